// Convolutions with windows of 3 x 3 by minimal filtering (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016; Winograd, 1980).
//
// A tile of 2 x 2 outputs hangs on 4 x 4 elements of the input. Its transform, and that of the filter, are multiplied
// element by element, 16 multiplications instead of 36; over all channels, filters and tiles that is sixteen products of
// matrices, one for each of the sixteen places. A thread transforms so many tiles as its cache holds, multiplies them and
// transforms the results back.
//
// An output hangs on no more elements than its window sees, but they are added and taken away again: where one is
// infinite, or sums overflow on the way, NaN comes of what should be infinite. Where an output is not finite the caller
// computes all of them anew, the direct way.

#include "ffi/winograd.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "export.h"

namespace headrace {
namespace {

constexpr int64_t kPlaces = 16;
constexpr int64_t kFewestChannels = 16;     // of which the transforms take no longer than what they save
constexpr int64_t kFewestTiles = 32;
constexpr double kFewestMultiplications = 3e7;
constexpr int64_t kTileRows = 128;         // of products, at least: their right operand is packed for each
constexpr int64_t kCached = 160 * 1024;    // numbers that are transformed at a time on one thread, if so many rows need no more
constexpr int64_t kFewSums = 160 * 1024;   // numbers that a piece of work may add up where there are several a thread
constexpr int64_t kMostSums = 64 << 20;    // numbers that all pieces add up

int64_t up(int64_t count) { return (count + 15) / 16 * 16; }

// Takes numbers from a larger piece of memory.
struct Room {
  float* next;

  float* take(int64_t count) {
    float* found = next;
    next += up(count);
    return found;
  }
};

// -- transforms ----------------------------------------------------------------------------------------------------

// The planes of the sixteen places are this far apart: no power of two, or they would fall on the same cache lines.
int64_t plane_of(int64_t rows, int64_t columns) { return up(rows * columns) + 48; }

// Of 4 x 4 elements of the input, or of the gradient of the output.
HEADRACE_CLONES void transform_input(const float* const* from, int64_t count, float* to, int64_t plane) {
#pragma GCC ivdep
  for (int64_t c = 0; c < count; ++c) {
    float rows[4][4];
    for (int j = 0; j < 4; ++j) {
      const float a = from[j][c], b = from[4 + j][c], d = from[8 + j][c], e = from[12 + j][c];
      rows[0][j] = a - d;
      rows[1][j] = b + d;
      rows[2][j] = d - b;
      rows[3][j] = b - e;
    }
    for (int i = 0; i < 4; ++i) {
      const float a = rows[i][0], b = rows[i][1], d = rows[i][2], e = rows[i][3];
      to[(4 * i) * plane + c] = a - d;
      to[(4 * i + 1) * plane + c] = b + d;
      to[(4 * i + 2) * plane + c] = d - b;
      to[(4 * i + 3) * plane + c] = b - e;
    }
  }
}

// Of a filter's 3 x 3 elements.
HEADRACE_CLONES void transform_filter(const float* const* from, int64_t count, float* to, int64_t plane) {
#pragma GCC ivdep
  for (int64_t c = 0; c < count; ++c) {
    float rows[4][3];
    for (int j = 0; j < 3; ++j) {
      const float a = from[j][c], b = from[3 + j][c], d = from[6 + j][c];
      rows[0][j] = a;
      rows[1][j] = 0.5f * (a + b + d);
      rows[2][j] = 0.5f * (a - b + d);
      rows[3][j] = d;
    }
    for (int i = 0; i < 4; ++i) {
      const float a = rows[i][0], b = rows[i][1], d = rows[i][2];
      to[(4 * i) * plane + c] = a;
      to[(4 * i + 1) * plane + c] = 0.5f * (a + b + d);
      to[(4 * i + 2) * plane + c] = 0.5f * (a - b + d);
      to[(4 * i + 3) * plane + c] = d;
    }
  }
}

// Of 2 x 2 elements of the gradient of the output, where that of the filter is wanted.
HEADRACE_CLONES void transform_gradient(const float* const* from, int64_t count, float* to, int64_t plane) {
#pragma GCC ivdep
  for (int64_t c = 0; c < count; ++c) {
    float rows[4][2];
    for (int j = 0; j < 2; ++j) {
      const float a = from[j][c], b = from[2 + j][c];
      rows[0][j] = a;
      rows[1][j] = a + b;
      rows[2][j] = a - b;
      rows[3][j] = -b;
    }
    for (int i = 0; i < 4; ++i) {
      const float a = rows[i][0], b = rows[i][1];
      to[(4 * i) * plane + c] = a;
      to[(4 * i + 1) * plane + c] = a + b;
      to[(4 * i + 2) * plane + c] = a - b;
      to[(4 * i + 3) * plane + c] = -b;
    }
  }
}

// Back to 2 x 2 outputs; returns whether all are finite.
HEADRACE_CLONES bool transform_back(const float* from, int64_t plane, int64_t count, float* const* to) {
  int wrong = 0;
  float *first = to[0], *second = to[1], *third = to[2], *fourth = to[3];
#pragma GCC ivdep
  for (int64_t c = 0; c < count; ++c) {
    float rows[2][4];
    for (int j = 0; j < 4; ++j) {
      const float a = from[j * plane + c], b = from[(4 + j) * plane + c], d = from[(8 + j) * plane + c],
                  e = from[(12 + j) * plane + c];
      rows[0][j] = a + b + d;
      rows[1][j] = b - d - e;
    }
    const float p = rows[0][0] + rows[0][1] + rows[0][2], q = rows[0][1] - rows[0][2] - rows[0][3],
                r = rows[1][0] + rows[1][1] + rows[1][2], s = rows[1][1] - rows[1][2] - rows[1][3];
    first[c] = p;
    second[c] = q;
    third[c] = r;
    fourth[c] = s;
    const float sum = p + q + r + s;
    wrong |= !(sum - sum == 0.0f);
  }
  return wrong == 0;
}

// Back to the gradient of a filter's 3 x 3 elements; returns whether all are finite.
HEADRACE_CLONES bool transform_filter_back(const float* from, int64_t plane, int64_t count, float* const* to) {
  int wrong = 0;
#pragma GCC ivdep
  for (int64_t c = 0; c < count; ++c) {
    float rows[3][4];
    for (int j = 0; j < 4; ++j) {
      const float a = from[j * plane + c], b = from[(4 + j) * plane + c], d = from[(8 + j) * plane + c],
                  e = from[(12 + j) * plane + c];
      rows[0][j] = a + 0.5f * (b + d);
      rows[1][j] = 0.5f * (b - d);
      rows[2][j] = 0.5f * (b + d) + e;
    }
    float sum = 0;
    for (int i = 0; i < 3; ++i) {
      const float a = rows[i][0], b = rows[i][1], d = rows[i][2], e = rows[i][3];
      to[3 * i][c] = a + 0.5f * (b + d);
      to[3 * i + 1][c] = 0.5f * (b - d);
      to[3 * i + 2][c] = 0.5f * (b + d) + e;
      sum += a + b + d + e;
    }
    wrong |= !(sum - sum == 0.0f);
  }
  return wrong == 0;
}

HEADRACE_CLONES void add_row(const float* from, int64_t count, float* to) {
#pragma GCC ivdep
  for (int64_t c = 0; c < count; ++c) to[c] += from[c];
}

// As products finish their sums.
HEADRACE_CLONES void finish_row(const Finish& of, float* to, int64_t count, const float* ones, const float* zeros) {
  const float* factor = of.factor == nullptr ? ones : of.factor;
  const float* bias = of.bias == nullptr ? zeros : of.bias;
  const float least = of.least, most = of.most;
  const float* added = of.added == nullptr ? nullptr : of.added + (to - of.result);
  if (added == nullptr) {
#pragma GCC ivdep
    for (int64_t c = 0; c < count; ++c) {
      float v = to[c] * factor[c] + bias[c];
      v = v < least ? least : v;
      to[c] = v > most ? most : v;
    }
  } else {
#pragma GCC ivdep
    for (int64_t c = 0; c < count; ++c) {
      float v = to[c] * factor[c] + bias[c] + added[c];
      v = v < least ? least : v;
      to[c] = v > most ? most : v;
    }
  }
}

// -- tiles ---------------------------------------------------------------------------------------------------------

// Images [images, height, width, channels], cut into squares that are two apart.
struct Grid {
  int64_t images, height, width, channels;
  int64_t down, across;  // tiles of an image
  int64_t before[2];     // padding of the first tile

  int64_t tiles() const { return images * down * across; }

  // Writes where the elements of a tile are; `beyond` stands for those that are not in the image.
  template <int kSide>
  void elements(int64_t tile, float* data, float* beyond, float** at) const {
    const int64_t image = tile / (down * across), y = tile / across % down * 2 - before[0], x = tile % across * 2 - before[1];
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        const bool inside = y + i >= 0 && y + i < height && x + j >= 0 && x + j < width;
        at[i * kSide + j] = inside ? data + ((image * height + y + i) * width + x + j) * channels : beyond;
      }
    }
  }
};

Grid grid_of(int64_t images, const int64_t* size, int64_t channels, const int64_t* tiles, int64_t before_y, int64_t before_x) {
  return {images, size[1], size[2], channels, tiles[0], tiles[1], {before_y, before_x}};
}

// Transforms tiles from `first` to `end`; row `t` of each plane is that of tile `first + t`.
template <int kSide, typename Transform>
void transform_tiles(const Grid& grid, const float* data, const float* zeros, int64_t first, int64_t end, float* to,
                     int64_t plane, const Transform& transform) {
  float* at[kSide * kSide];
  for (int64_t t = first; t < end; ++t, to += grid.channels) {
    grid.elements<kSide>(t, const_cast<float*>(data), const_cast<float*>(zeros), at);
    transform(at, grid.channels, to, plane);
  }
}

// Transforms filters [3, 3, rows, columns] to sixteen matrices [rows, columns].
void transform_filters(const Threading& threading, const float* w, int64_t rows, int64_t columns, bool is_turned,
                       float* to, int64_t plane) {
  threading.each(rows, [&](int64_t row) {
    const float* at[9];
    for (int i = 0; i < 9; ++i) at[i] = w + ((is_turned ? 8 - i : i) * rows + row) * columns;
    transform_filter(at, columns, to + row * columns, plane);
  });
}

int64_t tiles_at_once(int64_t channels, int64_t filters) {
  return std::max(kTileRows, kCached / (kPlaces * (channels + filters)));
}

// The convolution of a grid's images with a filter that has been transformed: to images of `out`.
bool convolve(const Threading& threading, const Grid& in, const float* x, const float* filter, int64_t filter_plane,
              bool is_turned, const Grid& out, float* y, const Finish* finish) {
  const ProductCode& code = product_code();
  const int64_t widest = std::max(in.channels, out.channels), tiles = in.tiles();
  int64_t chunks = std::max<int64_t>(1, tiles / tiles_at_once(in.channels, out.channels));
  if (chunks < 8 * threading.threads) chunks = (chunks + threading.threads - 1) / threading.threads * threading.threads;
  const int64_t chunk = (tiles + chunks - 1) / chunks;
  const int64_t in_plane = plane_of(chunk, in.channels), out_plane = plane_of(chunk, out.channels);
  std::atomic<bool> is_finite{true};
  threading.each(chunks, [&](int64_t piece) {
    const int64_t first = tiles * piece / chunks, end = tiles * (piece + 1) / chunks, count = end - first;
    if (!is_finite) return;
    Room room{thread_scratch(up(code.scratch) + kPlaces * (in_plane + out_plane) + 3 * up(widest))};
    float *scratch = room.take(code.scratch), *ones = room.take(widest), *zeros = room.take(widest);
    float *beyond = room.take(widest), *from = room.take(kPlaces * in_plane), *to = room.take(kPlaces * out_plane);
    std::fill(ones, ones + widest, 1.0f);
    std::fill(zeros, zeros + widest, -0.0f);  // to add this one changes nothing, not even a zero
    transform_tiles<4>(in, x, zeros, first, end, from, in_plane, transform_input);
    for (int64_t p = 0; p < kPlaces; ++p) {
      const Product product = matrix_product(from + p * in_plane, false, filter + p * filter_plane, is_turned,
                                             to + p * out_plane, count, out.channels, in.channels);
      code.compute(product, {0, 0, count, 0, out.channels, 0, in.channels, nullptr}, scratch);
    }
    float* at[4];
    for (int64_t t = first; t < end; ++t, to += out.channels) {
      out.elements<2>(t, y, beyond, at);
      if (!transform_back(to, out_plane, out.channels, at)) is_finite = false;
      if (finish == nullptr) continue;
      for (float* row : at) {
        if (row != beyond) finish_row(*finish, row, out.channels, ones, zeros);
      }
    }
  });
  return is_finite;
}

void count_tiles(const int64_t* outputs, int64_t* tiles) {
  for (int a = 0; a < 2; ++a) tiles[a] = (outputs[a + 1] + 1) / 2;
}

}  // namespace

bool takes_winograd(const Convolution& of) {
  static const char* const wanted = std::getenv("HEADRACE_WINOGRAD");
  if (wanted != nullptr && std::strcmp(wanted, "0") == 0) return false;
  if (of.groups != 1 || of.size[0] != 1 || of.outputs[0] != 1 || of.window[0] != 1 || of.before[0] != 0) return false;
  for (int a = 1; a < 3; ++a) {
    if (of.window[a] != 3 || of.step[a] != 1 || of.dilation[a] != 1) return false;
    if (of.before[a] < 0 || of.before[a] > 2 || of.outputs[a] > of.size[a] + 4) return false;
  }
  const int64_t tiles = of.images * ((of.outputs[1] + 1) / 2) * ((of.outputs[2] + 1) / 2);
  if (std::min(of.channels, of.filters) < kFewestChannels || tiles < kFewestTiles) return false;
  return 36.0 * tiles * of.channels * of.filters >= kFewestMultiplications;
}

bool winograd_forward(const Convolution& of, const float* x, const float* w, float* y, const Finish* finish,
                      const Threading& threading) {
  int64_t tiles[2];
  count_tiles(of.outputs, tiles);
  const int64_t plane = plane_of(of.channels, of.filters);
  const Borrowed memory(kPlaces * plane);
  float* filter = memory.data();
  transform_filters(threading, w, of.channels, of.filters, false, filter, plane);
  return convolve(threading, grid_of(of.images, of.size, of.channels, tiles, of.before[1], of.before[2]), x, filter, plane,
                  false, grid_of(of.images, of.outputs, of.filters, tiles, 0, 0), y, finish);
}

bool winograd_input_gradient(const Convolution& of, const float* w, const float* dy, float* dx,
                             const Threading& threading) {
  // The convolution of the gradient with the filter turned by half a circle.
  int64_t tiles[2];
  count_tiles(of.size, tiles);
  const int64_t plane = plane_of(of.channels, of.filters);
  const Borrowed memory(kPlaces * plane);
  float* filter = memory.data();
  transform_filters(threading, w, of.channels, of.filters, true, filter, plane);
  return convolve(threading, grid_of(of.images, of.outputs, of.filters, tiles, 2 - of.before[1], 2 - of.before[2]), dy,
                  filter, plane, true, grid_of(of.images, of.size, of.channels, tiles, 0, 0), dx, nullptr);
}

bool winograd_filter_gradient(const Convolution& of, const float* x, const float* dy, float* dw,
                              const Threading& threading) {
  int64_t cut[2];
  count_tiles(of.outputs, cut);
  const Grid in = grid_of(of.images, of.size, of.channels, cut, of.before[1], of.before[2]);
  const Grid out = grid_of(of.images, of.outputs, of.filters, cut, 0, 0);
  const ProductCode& code = product_code();
  const int64_t widest = std::max(of.channels, of.filters), tiles = in.tiles();
  const int64_t plane = plane_of(of.channels, of.filters), sum = kPlaces * plane;
  // Each piece adds up sums of its own.
  const int64_t pieces = std::min({threading.threads * (sum < kFewSums ? 4 : 1), std::max<int64_t>(1, kMostSums / sum),
                                   std::max<int64_t>(1, tiles / kFewestTiles)});
  const int64_t chunk = std::min((tiles + pieces - 1) / pieces, tiles_at_once(of.channels, of.filters));
  const int64_t in_plane = plane_of(chunk, of.channels), out_plane = plane_of(chunk, of.filters);
  const Borrowed memory(pieces * sum);
  float* const sums = memory.data();
  threading.each(pieces, [&](int64_t piece) {
    Room room{thread_scratch(up(code.scratch) + kPlaces * (in_plane + out_plane) + up(widest))};
    float *scratch = room.take(code.scratch), *zeros = room.take(widest);
    float *seen = room.take(kPlaces * in_plane), *gradient = room.take(kPlaces * out_plane);
    std::fill(zeros, zeros + widest, 0.0f);
    const int64_t begin = tiles * piece / pieces, end = tiles * (piece + 1) / pieces;
    for (int64_t first = begin; first < end; first += chunk) {
      const int64_t count = std::min(chunk, end - first);
      transform_tiles<4>(in, x, zeros, first, first + count, seen, in_plane, transform_input);
      transform_tiles<2>(out, dy, zeros, first, first + count, gradient, out_plane, transform_gradient);
      for (int64_t p = 0; p < kPlaces; ++p) {
        Product product = matrix_product(seen + p * in_plane, true, gradient + p * out_plane, false,
                                         sums + piece * sum + p * plane, of.channels, of.filters, count);
        product.adds = first > begin;
        code.compute(product, {0, 0, of.channels, 0, of.filters, 0, count, nullptr}, scratch);
      }
    }
  });
  std::atomic<bool> is_finite{true};
  threading.each(of.channels, [&](int64_t row) {
    float* const to = sums + row * of.filters;
    for (int64_t p = 0; p < kPlaces; ++p) {
      for (int64_t piece = 1; piece < pieces; ++piece) add_row(to + piece * sum + p * plane, of.filters, to + p * plane);
    }
    float* at[9];
    for (int i = 0; i < 9; ++i) at[i] = dw + (i * of.channels + row) * of.filters;
    if (!transform_filter_back(to, plane, of.filters, at)) is_finite = false;
  });
  return is_finite;
}

}  // namespace headrace
