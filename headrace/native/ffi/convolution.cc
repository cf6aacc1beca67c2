// Convolutions and their gradients as products of matrices.

#include "ffi/convolution.h"

#include <algorithm>
#include <numeric>

#include "ffi/winograd.h"

namespace headrace {
namespace {

int64_t volume(const int64_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// What of a window an element of the input that is at `phase`, modulo the step, is seen through.
struct Phase {
  int64_t outputs;  // how many such elements there are
  int64_t first, stride, count;  // the elements of the window, the last one first
  int64_t dilation, before;      // of the window of these that slides over the gradient of the output
};

Phase phase_of(const Convolution& of, int axis, int64_t phase) {
  const int64_t step = of.step[axis], dilation = of.dilation[axis], before = of.before[axis];
  const int64_t common = std::gcd(step, dilation);
  Phase result{(of.size[axis] - phase + step - 1) / step, 0, step / common, 0, dilation / common, 0};
  for (int64_t k = 0; k < of.window[axis]; ++k) {
    if ((phase + before - k * dilation) % step != 0) continue;
    result.first = k;
    ++result.count;
  }
  // The last element of the window sees the earliest output.
  if (result.count > 0) result.before = -((phase + before - result.first * dilation) / step);
  return result;
}

bool is_plain(const Convolution& of) {
  for (int a = 0; a < 3; ++a) {
    if (of.window[a] != 1 || of.step[a] != 1 || of.before[a] != 0 || of.size[a] != of.outputs[a]) return false;
  }
  return true;
}

Patches patches_of(const Convolution& of) {
  Patches p{};
  for (int a = 0; a < 3; ++a) {
    p.size[a] = of.size[a];
    p.window[a] = of.window[a];
    p.outputs[a] = of.outputs[a];
    p.step[a] = of.step[a];
    p.dilation[a] = of.dilation[a];
    p.before[a] = of.before[a];
  }
  p.pixel = of.channels;
  p.channels = of.channels / of.groups;
  return p;
}

constexpr int64_t kFewestChannels = 16;  // the parts of sums that are left should not be short

// Cuts places of the window into regions if that saves enough.
std::vector<Region> regions_of(const Patches& of, int64_t images) {
  Region all{};
  struct Range {
    int64_t first, size, begin, end;
  };
  std::vector<Range> ranges[3];
  for (int a = 0; a < 3; ++a) {
    all.size[a] = of.outputs[a];
    all.taps[a][1] = of.window[a];
    for (int64_t o = 0; o < of.outputs[a]; ++o) {
      const int64_t start = o * of.step[a] - of.before[a];
      int64_t begin = 0, end = of.window[a];
      while (begin < end && start + begin * of.dilation[a] < 0) ++begin;
      while (end > begin && start + (end - 1) * of.dilation[a] >= of.size[a]) --end;
      if (begin == end) begin = end = 0;
      if (!ranges[a].empty() && ranges[a].back().begin == begin && ranges[a].back().end == end) {
        ++ranges[a].back().size;
      } else {
        ranges[a].push_back({o, 1, begin, end});
      }
    }
  }
  if (of.channels < kFewestChannels || ranges[0].size() * ranges[1].size() * ranges[2].size() > 64) return {all};
  std::vector<Region> regions;
  double left = 0;  // of the multiplications; a tile takes as long as one of four rows at least
  int64_t row = 0;
  for (const Range& d : ranges[0]) {
    for (const Range& h : ranges[1]) {
      for (const Range& w : ranges[2]) {
        const int64_t rows = images * d.size * h.size * w.size;
        regions.push_back({row, {d.first, h.first, w.first}, {d.size, h.size, w.size},
                           {{d.begin, d.end}, {h.begin, h.end}, {w.begin, w.end}}});
        row += rows;
        left += static_cast<double>(std::max<int64_t>(rows, 4) + 1) * (d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin);
      }
    }
  }
  if (left > 0.97 * row * volume(of.window)) return {all};
  return regions;
}

}  // namespace

bool Convolution::is_sound() const {
  if (images < 0 || channels < 0 || filters < 0 || groups < 1 || channels % groups || filters % groups) return false;
  for (int a = 0; a < 3; ++a) {
    if (size[a] < 0 || window[a] < 1 || outputs[a] < 0 || step[a] < 1 || dilation[a] < 1) return false;
  }
  return true;
}

Product matrix_product(const float* a, bool turn_a, const float* b, bool turn_b, float* c, int64_t m, int64_t n,
                       int64_t k) {
  Product p{};
  p.m = m;
  p.n = n;
  p.k = k;
  p.left.kind = turn_a ? Left::kColumns : Left::kRows;
  p.left.data = a;
  p.left.stride = turn_a ? m : k;
  p.right.kind = turn_b ? Right::kColumns : Right::kRows;
  p.right.data = b;
  p.right.stride = turn_b ? k : n;
  p.right.run = k;
  p.right.offsets = {0};
  p.out.data = c;
  p.out.stride = n;
  return p;
}

void finish_product(Product& product, const Finish& of, int64_t first) {
  product.is_finished = true;
  product.finish = of;
  for (const float** p : {&product.finish.factor, &product.finish.bias}) {
    if (*p != nullptr) *p += first;
  }
}

void Convolution::forward(const float* x, const float* w, float* y, const Finish* finish, const Threading& threading) const {
  if (takes_winograd(*this) && winograd_forward(*this, x, w, y, finish, threading)) return;
  Work work;
  const int64_t c = channels / groups, f = filters / groups;
  for (int64_t g = 0; g < groups; ++g) {
    Product p = matrix_product(x + g * c, false, w + g * f, false, y + g * f, images * volume(outputs), f,
                               volume(window) * c);
    if (is_plain(*this)) {
      p.left.stride = channels;
    } else {
      p.left.kind = Left::kPatches;
      p.left.patches = patches_of(*this);
      p.left.regions = regions_of(p.left.patches, images);
      p.out.is_grid = true;
      p.out.strides[0] = volume(outputs) * filters;
      p.out.strides[1] = outputs[1] * outputs[2] * filters;
      p.out.strides[2] = outputs[2] * filters;
      p.out.strides[3] = filters;
    }
    p.right.stride = filters;
    p.out.stride = filters;
    if (finish != nullptr) finish_product(p, *finish, g * f);
    work.products.push_back(p);
  }
  work.cut(threading.threads);
  compute(work, threading);
}

void Convolution::filter_gradient(const float* x, const float* dy, float* dw, const Threading& threading) const {
  if (takes_winograd(*this) && winograd_filter_gradient(*this, x, dy, dw, threading)) return;
  Work work;
  const int64_t c = channels / groups, f = filters / groups;
  for (int64_t g = 0; g < groups; ++g) {
    Product p = matrix_product(x + g * c, true, dy + g * f, false, dw + g * f, volume(window) * c, f,
                               images * volume(outputs));
    if (is_plain(*this)) {
      p.left.stride = channels;
    } else {
      p.left.kind = Left::kTurnedPatches;
      p.left.patches = patches_of(*this);
      p.left.regions = regions_of(p.left.patches, images);
      p.right.is_grid = p.left.regions.size() > 1;
    }
    p.right.stride = filters;
    p.out.stride = filters;
    work.products.push_back(p);
  }
  work.cut(threading.threads);
  compute(work, threading);
}

void Convolution::input_gradient(const float* w, const float* dy, float* dx, const Threading& threading) const {
  if (takes_winograd(*this) && winograd_input_gradient(*this, w, dy, dx, threading)) return;
  Work work;
  const int64_t c = channels / groups, f = filters / groups;
  const int64_t out[4] = {volume(size) * channels, size[1] * size[2] * channels, size[2] * channels, channels};
  // Elements that are a multiple of the step apart are seen through the same elements of the window: no others meet.
  int64_t phases[3];
  for (int a = 0; a < 3; ++a) phases[a] = std::min(step[a], size[a]);
  for (int64_t at = 0; at < volume(phases); ++at) {
    const int64_t phase[3] = {at / (phases[1] * phases[2]), at / phases[2] % phases[1], at % phases[2]};
    Phase of[3];
    Patches patches{};
    int64_t places = images, start = 0;
    for (int a = 0; a < 3; ++a) {
      of[a] = phase_of(*this, a, phase[a]);
      patches.size[a] = outputs[a];
      patches.window[a] = of[a].count;
      patches.outputs[a] = of[a].outputs;
      patches.step[a] = 1;
      patches.dilation[a] = of[a].dilation;
      patches.before[a] = of[a].before;
      places *= of[a].outputs;
      start += phase[a] * out[a + 1];
    }
    if (places == 0) continue;
    patches.pixel = filters;
    patches.channels = f;
    std::vector<int64_t> offsets;
    for (int64_t i = 0; i < of[0].count; ++i) {
      for (int64_t j = 0; j < of[1].count; ++j) {
        for (int64_t k = 0; k < of[2].count; ++k) {
          const int64_t d = of[0].first - i * of[0].stride, h = of[1].first - j * of[1].stride;
          offsets.push_back(((d * window[1] + h) * window[2] + of[2].first - k * of[2].stride) * c * filters);
        }
      }
    }
    for (int64_t g = 0; g < groups; ++g) {
      Product p = matrix_product(dy + g * f, false, w + g * f, true, dx + start + g * c, places, c,
                                 static_cast<int64_t>(offsets.size()) * f);
      p.right.stride = filters;
      p.right.run = f;
      p.right.offsets = offsets;
      p.out.stride = channels;
      if (is_plain(*this)) {
        p.left.stride = filters;
      } else {
        p.left.kind = Left::kPatches;
        p.left.patches = patches;
        p.left.regions = regions_of(patches, images);
        p.out.is_grid = true;
        for (int a = 0; a < 3; ++a) p.out.strides[a + 1] = step[a] * out[a + 1];
        p.out.strides[0] = out[0];
      }
      work.products.push_back(p);
    }
  }
  work.cut(threading.threads);
  compute(work, threading);
}

}  // namespace headrace
