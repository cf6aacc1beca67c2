// Products of float32 matrices, of which one may be the patches of images, and how they are cut into parts.
//
// A product is out(i, n) = sum over k of left(i, k) * right(k, n). Its operands are packed block by block into the
// form that the innermost loop reads; what is packed may lie in memory as a matrix or its transpose, or be gathered
// from images: convolutions and their gradients are products, too.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace headrace {

// The patches that a window sees sliding over images with channels last: one row a place of the window, one column
// an element of the window and channel.
struct Patches {
  int64_t size[3];      // of an image: depth, height, width
  int64_t pixel;        // numbers from one pixel to the next
  int64_t channels;     // of a pixel that count; fewer than `pixel` if they are one group of several
  int64_t window[3];
  int64_t outputs[3];   // places of the window
  int64_t step[3], dilation[3];
  int64_t before[3];    // padding; negative where the window starts inside

  // Whether elements of the window side by side are side by side in memory, over all channels.
  bool is_dense() const { return dilation[2] == 1 && pixel == channels; }
  int64_t run() const { return is_dense() ? window[2] * channels : channels; }  // numbers side by side
  int64_t places() const { return outputs[0] * outputs[1] * outputs[2]; }
  int64_t columns() const { return window[0] * window[1] * window[2] * channels; }
};

// Places of a window that see the same of its elements: elsewhere it stands beyond an edge. Places are counted region by
// region, so that the rows of one tile have the same terms and nothing is multiplied by the padding.
struct Region {
  int64_t row;                // the first place's
  int64_t first[3], size[3];  // of the places, along the three axes
  int64_t taps[3][2];         // the elements that are seen: the first, and the one behind the last
};

struct Left {
  enum Kind { kRows, kColumns, kPatches, kTurnedPatches } kind;
  const float* data;
  int64_t stride;   // kRows: of i, kColumns: of k
  Patches patches;  // kPatches: i is the place, kTurnedPatches: k is
  std::vector<Region> regions;  // of patches: one at least
};

struct Right {
  enum Kind { kRows, kColumns } kind;
  const float* data;
  int64_t stride;  // kRows: of k, kColumns: of n
  bool is_grid;    // kRows: whether k is a place of the left operand's turned patches, all of a row side by side
  // kColumns: k is side by side for `run` numbers, after which `offsets` tells where the next begin.
  int64_t run;
  std::vector<int64_t> offsets;
};

struct Out {
  float* data;
  int64_t stride;  // of i, unless `is_grid`
  bool is_grid;    // whether i is a place of `left.patches`
  int64_t strides[4];  // then: of images, and of the three axes
};

// What becomes of sums before they are written: sum * factor + bias + added, cut off at both ends. NaN stays.
struct Finish {
  const float *factor, *bias;  // of each column; null for 1 and 0
  const float* added;          // null, or laid out as the result, which begins at `result`
  const float* result;
  float least, most;
};

struct Product {
  int64_t m, n, k;
  Left left;
  Right right;
  Out out;
  bool adds;         // to what is there already
  bool is_finished;  // whether `finish` says anything
  Finish finish;
};

// A part of a product, computed on one thread.
struct Part {
  int64_t product;
  int64_t m0, m1, n0, n1, k0, k1;
  float* partial;  // where the part of a sum goes, [m, n]; null if it is the whole sum, which goes to `out`
};

// The code for one kind of CPU.
struct ProductCode {
  const char* name;
  int64_t rows, columns;  // of the tile that the innermost loop computes
  int64_t scratch;        // numbers that `compute` needs
  void (*compute)(const Product& product, const Part& part, float* scratch);
  void (*add)(const Part* parts, int64_t count, const Product& product, int64_t m0, int64_t m1);
};

// Each is null where the compiler has no such code.
extern const ProductCode* const kProductsAvx512;
extern const ProductCode* const kProductsAvx2;
extern const ProductCode* const kProductsPlain;

// The code for this CPU, or what HEADRACE_PRODUCTS names ("avx512", "avx2", "plain") if the CPU has it.
const ProductCode& product_code();

// Memory for numbers, in pages of its own.
class Pages {
 public:
  Pages() = default;
  explicit Pages(int64_t numbers);
  Pages(Pages&& other) noexcept { *this = std::move(other); }
  Pages& operator=(Pages&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(bytes_, other.bytes_);
    other.free();
    other.count_ = 0;
    return *this;
  }
  ~Pages() { free(); }

  float* data() const { return data_; }
  int64_t count() const { return count_; }

 private:
  void free();

  void* base_ = nullptr;
  float* data_ = nullptr;
  int64_t count_ = 0, bytes_ = 0;
};

// Numbers for somebody's use, which stay allocated for the next.
class Borrowed {
 public:
  explicit Borrowed(int64_t count);
  ~Borrowed();
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  float* data() const { return pages_.data(); }
  int64_t count() const { return pages_.count(); }

 private:
  Pages pages_;
};

// Numbers for one thread's use.
float* thread_scratch(int64_t count);

// How products are computed: all parts, then, where a sum over k was cut, the sums of its parts.
struct Work {
  std::vector<Product> products;
  std::vector<Part> parts;
  struct Sum {
    int64_t product, first, count;  // of the parts
    int64_t m0, m1;
  };
  std::vector<Sum> sums;
  float* partials = nullptr;

  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work();

  // Cuts all products into parts for so many threads.
  void cut(int64_t threads);
  void compute(int64_t part) const;
  void add(int64_t sum) const;
};

// How work is spread over threads: `each` calls its second argument for each piece below the first.
struct Threading {
  int64_t threads;
  std::function<void(int64_t, const std::function<void(int64_t)>&)> each;
};

// Computes what has been cut into parts.
void compute(const Work& work, const Threading& threading);

}  // namespace headrace
