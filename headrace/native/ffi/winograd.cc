// Convolutions by minimal filtering (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016; Winograd, 1980).
//
// A tile of 2 x 2 outputs hangs on 4 x 4 elements of the input. Its transform, and that of the filter, are multiplied
// element by element, 16 multiplications instead of 36; over all channels, filters and tiles that is sixteen products of
// matrices, one for each of the sixteen places. A thread transforms so many tiles as its cache holds, multiplies them and
// transforms the results back.
//
// A window of five is one of two and one of three beside it: these lie as far apart as tiles do, so that the second sees
// the next tile, which has been transformed anyway. The products are then convolutions over the tiles, with windows of
// two. The transform of two elements has nothing in the last place: 49 multiplications are left of 100. A window of seven
// is two, two and three.
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
HEADRACE_CLONES void transform_filter(const float* const* from, int64_t count, float* const* to) {
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
      to[4 * i][c] = a;
      to[4 * i + 1][c] = 0.5f * (a + b + d);
      to[4 * i + 2][c] = 0.5f * (a - b + d);
      to[4 * i + 3][c] = d;
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
HEADRACE_CLONES bool transform_filter_back(const float* const* from, int64_t count, float* const* to) {
  int wrong = 0;
#pragma GCC ivdep
  for (int64_t c = 0; c < count; ++c) {
    float rows[3][4];
    for (int j = 0; j < 4; ++j) {
      const float a = from[j][c], b = from[4 + j][c], d = from[8 + j][c], e = from[12 + j][c];
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
  void elements(int64_t image, int64_t row, int64_t column, float* data, float* beyond, float** at) const {
    const int64_t y = row * 2 - before[0], x = column * 2 - before[1];
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        const bool inside = y + i >= 0 && y + i < height && x + j >= 0 && x + j < width;
        at[i * kSide + j] = inside ? data + ((image * height + y + i) * width + x + j) * channels : beyond;
      }
    }
  }
};

Grid grid_of(int64_t images, const int64_t* size, int64_t channels) {
  return {images, size[1], size[2], channels, (size[1] + 1) / 2, (size[2] + 1) / 2, {0, 0}};
}

// The images that windows see whose outputs are a grid's: a tile for each of its own.
Grid seen_by(const Grid& out, const int64_t* size, int64_t channels, int64_t before_y, int64_t before_x) {
  return {out.images, size[1], size[2], channels, out.down, out.across, {before_y, before_x}};
}

// Tiles that are computed together: rows of tiles of some images; of one image if they are not all its rows.
struct Lot {
  int64_t image, images, row, rows;
};

// How a grid is cut into lots.
struct Lots {
  int64_t images, down, whole, cuts;  // lots of whole images; or, if `cuts` is more than one, lots of an image
  int64_t most_images, most_rows;

  Lots(const Grid& grid, int64_t wanted) : images(grid.images), down(grid.down) {
    whole = std::min(wanted, images);
    cuts = wanted <= images ? 1 : std::min(down, (wanted + images - 1) / images);
    most_images = cuts > 1 ? 1 : (images + whole - 1) / whole;
    most_rows = (down + cuts - 1) / cuts;
  }
  int64_t count() const { return cuts > 1 ? images * cuts : whole; }
  Lot at(int64_t index) const {
    if (cuts == 1) {
      const int64_t first = images * index / whole;
      return {first, images * (index + 1) / whole - first, 0, down};
    }
    const int64_t cut = index % cuts, first = down * cut / cuts;
    return {index / cuts, 1, first, down * (cut + 1) / cuts - first};
  }
};

int64_t tiles_at_once(int64_t channels, int64_t filters) {
  return std::max(kTileRows, kCached / (kPlaces * (channels + filters)));
}

// -- windows -------------------------------------------------------------------------------------------------------

// A window as windows of two, and a last one of three, along both axes.
struct Window {
  int64_t size[2], parts[2];

  explicit Window(const Convolution& of) {
    for (int a = 0; a < 2; ++a) {
      size[a] = of.window[a + 1];
      parts[a] = (size[a] - 1) / 2;
    }
  }
  bool is_one() const { return parts[0] == 1 && parts[1] == 1; }
  // The first part along an axis that has something in this place: in the last only the part of three has.
  int64_t first(int axis, int64_t place) const { return place == 3 ? parts[axis] - 1 : 0; }
  int64_t parts_in(int64_t place) const {
    return (parts[0] - first(0, place / 4)) * (parts[1] - first(1, place % 4));
  }
  // The index of a part among those in a place, -1 if it is not there.
  int64_t index(int64_t place, int64_t y, int64_t x) const {
    const int64_t first_y = first(0, place / 4), first_x = first(1, place % 4);
    return y < first_y || x < first_x ? -1 : (y - first_y) * (parts[1] - first_x) + x - first_x;
  }
  // Calls `visit(i, element)` for each of the 3 x 3 elements of a part; -1 is for those that it does not have.
  template <typename Visit>
  void elements(int64_t y, int64_t x, const Visit& visit) const {
    for (int i = 0; i < 9; ++i) {
      const int64_t down = i / 3, across = i % 3;
      const bool is_there = (down < 2 || y == parts[0] - 1) && (across < 2 || x == parts[1] - 1);
      visit(i, is_there ? (2 * y + down) * size[1] + 2 * x + across : -1);
    }
  }
};

// Sixteen matrices of [the parts in this place, rows, columns].
struct Planes {
  int64_t rows, columns, starts[kPlaces + 1];

  Planes(const Window& window, int64_t rows, int64_t columns) : rows(rows), columns(columns), starts{} {
    for (int64_t p = 0; p < kPlaces; ++p) {
      starts[p + 1] = starts[p] + plane_of(window.parts_in(p) * rows, columns);
    }
  }
  int64_t size() const { return starts[kPlaces]; }
  // Writes where a row of a part is in each place; `beyond` stands for what is not there.
  void at(const Window& window, int64_t y, int64_t x, int64_t row, float* data, float* beyond, float** to) const {
    for (int64_t p = 0; p < kPlaces; ++p) {
      const int64_t index = window.index(p, y, x);
      to[p] = index < 0 ? beyond : data + starts[p] + (index * rows + row) * columns;
    }
  }
};

// What of the transformed tiles of a lot is multiplied in one place.
void see_tiles(Product& product, bool is_turned, const Window& window, int64_t place, const Lot& lot, const Grid& in) {
  if (window.is_one()) return;
  product.left.kind = is_turned ? Left::kTurnedPatches : Left::kPatches;
  Patches& of = product.left.patches;
  const int64_t from[2] = {window.first(0, place / 4), window.first(1, place % 4)}, outputs[2] = {lot.rows, in.across};
  Region all{};
  for (int a = 0; a < 3; ++a) {
    of.window[a] = a == 0 ? 1 : window.parts[a - 1] - from[a - 1];
    of.outputs[a] = a == 0 ? 1 : outputs[a - 1];
    of.size[a] = a == 0 ? 1 : outputs[a - 1] + window.parts[a - 1] - 1;
    of.before[a] = a == 0 ? 0 : -from[a - 1];
    of.step[a] = of.dilation[a] = 1;
    all.size[a] = of.outputs[a];
    all.taps[a][1] = of.window[a];
  }
  of.pixel = of.channels = in.channels;
  product.left.regions = {all};
}

// Transforms the tiles of a lot, and those that its windows see beyond it.
void transform_seen(const Grid& in, const Window& window, const Lot& lot, const float* x, const float* zeros, float* to,
                    int64_t plane) {
  float* at[16];
  for (int64_t n = lot.image; n < lot.image + lot.images; ++n) {
    for (int64_t r = lot.row; r < lot.row + lot.rows + window.parts[0] - 1; ++r) {
      for (int64_t c = 0; c < in.across + window.parts[1] - 1; ++c, to += in.channels) {
        in.elements<4>(n, r, c, const_cast<float*>(x), const_cast<float*>(zeros), at);
        transform_input(at, in.channels, to, plane);
      }
    }
  }
}

// Tiles that the windows of the largest lot see.
int64_t most_seen(const Lots& lots, const Window& window, const Grid& in) {
  return lots.most_images * (lots.most_rows + window.parts[0] - 1) * (in.across + window.parts[1] - 1);
}

// Transforms a filter [window, rows, columns].
void transform_filters(const Threading& threading, const Window& window, const float* w, bool is_turned, float* to,
                       const Planes& planes) {
  const int64_t elements = window.size[0] * window.size[1], rows = planes.rows, columns = planes.columns;
  threading.each(rows, [&](int64_t row) {
    Room room{thread_scratch(2 * up(columns))};
    float *zeros = room.take(columns), *beyond = room.take(columns);
    std::fill(zeros, zeros + columns, 0.0f);
    for (int64_t y = 0; y < window.parts[0]; ++y) {
      for (int64_t x = 0; x < window.parts[1]; ++x) {
        const float* from[9];
        window.elements(y, x, [&](int i, int64_t element) {
          from[i] = element < 0 ? zeros : w + ((is_turned ? elements - 1 - element : element) * rows + row) * columns;
        });
        float* at[kPlaces];
        planes.at(window, y, x, row, to, beyond, at);
        transform_filter(from, columns, at);
      }
    }
  });
}

// -- convolutions --------------------------------------------------------------------------------------------------

// The convolution of a grid's images with a filter, which may be turned by half a circle: to images of `out`.
bool convolve(const Convolution& of, const Threading& threading, const Grid& in, const float* x, const float* w,
              bool is_turned, const Grid& out, float* y, const Finish* finish) {
  const Window window(of);
  const Planes planes(window, of.channels, of.filters);
  const Borrowed memory(planes.size());
  float* const filter = memory.data();
  transform_filters(threading, window, w, is_turned, filter, planes);
  const ProductCode& code = product_code();
  const int64_t widest = std::max(in.channels, out.channels);
  int64_t wanted = std::max<int64_t>(1, out.tiles() / tiles_at_once(in.channels, out.channels));
  if (wanted < 8 * threading.threads) wanted = (wanted + threading.threads - 1) / threading.threads * threading.threads;
  const Lots lots(out, wanted);
  const int64_t in_plane = plane_of(most_seen(lots, window, out), in.channels);
  const int64_t out_plane = plane_of(lots.most_images * lots.most_rows * out.across, out.channels);
  std::atomic<bool> is_finite{true};
  threading.each(lots.count(), [&](int64_t piece) {
    if (!is_finite) return;
    Room room{thread_scratch(up(code.scratch) + kPlaces * (in_plane + out_plane) + 3 * up(widest))};
    float *scratch = room.take(code.scratch), *ones = room.take(widest), *zeros = room.take(widest);
    float *beyond = room.take(widest), *from = room.take(kPlaces * in_plane), *to = room.take(kPlaces * out_plane);
    std::fill(ones, ones + widest, 1.0f);
    std::fill(zeros, zeros + widest, -0.0f);  // to add this one changes nothing, not even a zero
    const Lot lot = lots.at(piece);
    transform_seen(in, window, lot, x, zeros, from, in_plane);
    const int64_t count = lot.images * lot.rows * out.across;
    for (int64_t p = 0; p < kPlaces; ++p) {
      const int64_t parts = window.parts_in(p);
      Product product = matrix_product(from + p * in_plane, false, filter + planes.starts[p], is_turned, to + p * out_plane,
                                       count, out.channels, parts * in.channels);
      if (is_turned) {
        product.right.stride = product.right.run = in.channels;
        for (int64_t i = 1; i < parts; ++i) product.right.offsets.push_back(i * planes.rows * planes.columns);
      }
      see_tiles(product, false, window, p, lot, in);
      code.compute(product, {0, 0, count, 0, out.channels, 0, product.k, nullptr}, scratch);
    }
    float* at[4];
    for (int64_t n = lot.image; n < lot.image + lot.images; ++n) {
      for (int64_t r = lot.row; r < lot.row + lot.rows; ++r) {
        for (int64_t c = 0; c < out.across; ++c, to += out.channels) {
          out.elements<2>(n, r, c, y, beyond, at);
          if (!transform_back(to, out_plane, out.channels, at)) is_finite = false;
          if (finish == nullptr) continue;
          for (float* row : at) {
            if (row != beyond) finish_row(*finish, row, out.channels, ones, zeros);
          }
        }
      }
    }
  });
  return is_finite;
}

}  // namespace

bool takes_winograd(const Convolution& of) {
  static const char* const wanted = std::getenv("HEADRACE_WINOGRAD");
  if (wanted != nullptr && std::strcmp(wanted, "0") == 0) return false;
  if (of.groups != 1 || of.size[0] != 1 || of.outputs[0] != 1 || of.window[0] != 1 || of.before[0] != 0) return false;
  for (int a = 1; a < 3; ++a) {
    const int64_t size = of.window[a];
    if ((size != 3 && size != 5 && size != 7) || of.step[a] != 1 || of.dilation[a] != 1) return false;
    if (of.before[a] < 0 || of.before[a] >= size || of.outputs[a] > of.size[a] + 2 * (size - 1)) return false;
  }
  const int64_t tiles = of.images * ((of.outputs[1] + 1) / 2) * ((of.outputs[2] + 1) / 2);
  if (std::min(of.channels, of.filters) < kFewestChannels || tiles < kFewestTiles) return false;
  return 4.0 * tiles * of.window[1] * of.window[2] * of.channels * of.filters >= kFewestMultiplications;
}

bool winograd_forward(const Convolution& of, const float* x, const float* w, float* y, const Finish* finish,
                      const Threading& threading) {
  const Grid out = grid_of(of.images, of.outputs, of.filters);
  return convolve(of, threading, seen_by(out, of.size, of.channels, of.before[1], of.before[2]), x, w, false, out, y, finish);
}

bool winograd_input_gradient(const Convolution& of, const float* w, const float* dy, float* dx,
                             const Threading& threading) {
  // The convolution of the gradient with the filter turned by half a circle.
  const int64_t before[2] = {of.window[1] - 1 - of.before[1], of.window[2] - 1 - of.before[2]};
  const Grid out = grid_of(of.images, of.size, of.channels);
  return convolve(of, threading, seen_by(out, of.outputs, of.filters, before[0], before[1]), dy, w, true, out, dx, nullptr);
}

bool winograd_filter_gradient(const Convolution& of, const float* x, const float* dy, float* dw,
                              const Threading& threading) {
  const Window window(of);
  const Planes planes(window, of.channels, of.filters);
  const Grid out = grid_of(of.images, of.outputs, of.filters);
  const Grid in = seen_by(out, of.size, of.channels, of.before[1], of.before[2]);
  const ProductCode& code = product_code();
  const int64_t widest = std::max(of.channels, of.filters), tiles = out.tiles(), sum = planes.size();
  const Lots lots(out, std::max(threading.threads, tiles / tiles_at_once(of.channels, of.filters)));
  // Each piece adds up sums of its own.
  const int64_t pieces = std::min({threading.threads * (sum < kFewSums ? 4 : 1), std::max<int64_t>(1, kMostSums / sum),
                                   std::max<int64_t>(1, tiles / kFewestTiles), lots.count()});
  const int64_t in_plane = plane_of(most_seen(lots, window, out), of.channels);
  const int64_t out_plane = plane_of(lots.most_images * lots.most_rows * out.across, of.filters);
  const Borrowed memory(pieces * sum);
  float* const sums = memory.data();
  threading.each(pieces, [&](int64_t piece) {
    Room room{thread_scratch(up(code.scratch) + kPlaces * (in_plane + out_plane) + up(widest))};
    float *scratch = room.take(code.scratch), *zeros = room.take(widest);
    float *seen = room.take(kPlaces * in_plane), *gradient = room.take(kPlaces * out_plane);
    std::fill(zeros, zeros + widest, 0.0f);
    const int64_t begin = lots.count() * piece / pieces, end = lots.count() * (piece + 1) / pieces;
    for (int64_t index = begin; index < end; ++index) {
      const Lot lot = lots.at(index);
      transform_seen(in, window, lot, x, zeros, seen, in_plane);
      float *at[4], *to = gradient;
      for (int64_t n = lot.image; n < lot.image + lot.images; ++n) {
        for (int64_t r = lot.row; r < lot.row + lot.rows; ++r) {
          for (int64_t c = 0; c < out.across; ++c, to += of.filters) {
            out.elements<2>(n, r, c, const_cast<float*>(dy), zeros, at);
            transform_gradient(at, of.filters, to, out_plane);
          }
        }
      }
      const int64_t count = lot.images * lot.rows * out.across;
      for (int64_t p = 0; p < kPlaces; ++p) {
        Product product = matrix_product(seen + p * in_plane, true, gradient + p * out_plane, false,
                                         sums + piece * sum + planes.starts[p], window.parts_in(p) * of.channels, of.filters,
                                         count);
        see_tiles(product, true, window, p, lot, in);
        product.adds = index > begin;
        code.compute(product, {0, 0, product.m, 0, of.filters, 0, count, nullptr}, scratch);
      }
    }
  });
  std::atomic<bool> is_finite{true};
  threading.each(of.channels, [&](int64_t row) {
    Room room{thread_scratch(2 * up(of.filters))};
    float *zeros = room.take(of.filters), *beyond = room.take(of.filters);
    std::fill(zeros, zeros + of.filters, 0.0f);
    for (int64_t y = 0; y < window.parts[0]; ++y) {
      for (int64_t x = 0; x < window.parts[1]; ++x) {
        float *from[kPlaces], *to[9];
        planes.at(window, y, x, row, sums, zeros, from);
        for (float* total : from) {
          if (total == zeros) continue;
          for (int64_t piece = 1; piece < pieces; ++piece) add_row(total + piece * sum, of.filters, total);
        }
        window.elements(y, x, [&](int i, int64_t element) {
          to[i] = element < 0 ? beyond : dw + (element * of.channels + row) * of.filters;
        });
        if (!transform_filter_back(from, of.filters, to)) is_finite = false;
      }
    }
  });
  return is_finite;
}

}  // namespace headrace
