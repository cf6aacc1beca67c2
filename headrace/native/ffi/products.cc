// Which code multiplies matrices on this CPU, and how products are cut into parts.

#include "ffi/products.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace headrace {
namespace {

bool has(const ProductCode* code) {
  if (code == nullptr) return false;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (code == kProductsAvx512) return __builtin_cpu_supports("avx512f");
  if (code == kProductsAvx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return true;
}

const ProductCode& choose() {
  const char* wanted = std::getenv("HEADRACE_PRODUCTS");
  const ProductCode* best = kProductsPlain;
  for (const ProductCode* code : {kProductsPlain, kProductsAvx2, kProductsAvx512}) {
    if (!has(code)) continue;
    best = code;
    if (wanted != nullptr && std::strcmp(wanted, code->name) == 0) break;
  }
  return *best;
}

float* allocate(int64_t count) {
  const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64;
  float* p = static_cast<float*>(std::aligned_alloc(64, bytes));
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

// What things take, in multiplications of one number by another.
constexpr double kPackRight = 10, kPackLeft = 6, kAdd = 24;
constexpr double kWorthThreads = 1e6, kLargePart = 3e7;
constexpr int64_t kMostPartials = 4 << 20;  // numbers

struct Grid {
  int64_t m, n, k;
};

Grid best_grid(const Product& of, const ProductCode& code, int64_t parts) {
  Grid best{1, 1, 1};
  double least = -1;
  for (int64_t m = 1; m <= parts; ++m) {
    if (m > 1 && of.m / m < code.rows) break;
    for (int64_t n = 1; n * m <= parts; ++n) {
      if (n > 1 && of.n / n < code.columns) break;
      int64_t k = parts / (m * n);
      if (of.k / k < 512 || k * of.m * of.n > kMostPartials) k = 1;
      const double size = static_cast<double>(of.m) * of.n * of.k;
      const double packed = static_cast<double>(m) * of.k * of.n * kPackRight + static_cast<double>(n) * of.m * of.k * kPackLeft;
      const double added = k > 1 ? static_cast<double>(k) * of.m * of.n * kAdd : 0;
      // Parts that are too few leave threads idle.
      const double cost = (size + packed + added) / std::min<double>(parts, m * n * k);
      if (least < 0 || cost < least) {
        least = cost;
        best = {m, n, k};
      }
    }
  }
  return best;
}

int64_t cut_at(int64_t size, int64_t unit, int64_t piece, int64_t pieces) {
  const int64_t units = (size + unit - 1) / unit;
  return std::min(size, units * piece / pieces * unit);
}

}  // namespace

const ProductCode& product_code() {
  static const ProductCode& code = choose();
  return code;
}

Pages::Pages(int64_t numbers) {
#if defined(__linux__)
  // In large pages, where there are some: scattered small ones may fall on the same places of the second level's cache,
  // which costs a quarter of the speed for as long as a thread lives. And not from malloc: between the blocks of whole
  // steps this memory would stand where none of them fits any more.
  constexpr int64_t kPage = 2 << 20;
  bytes_ = (numbers * static_cast<int64_t>(sizeof(float)) + kPage - 1) / kPage * kPage;
  void* p = mmap(nullptr, bytes_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  base_ = p;
  data_ = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(p) + kPage - 1) / kPage * kPage);
  madvise(data_, bytes_, MADV_HUGEPAGE);
  bytes_ += kPage;
#else
  base_ = data_ = allocate(numbers);
#endif
  count_ = numbers;
}

void Pages::free() {
  if (base_ == nullptr) return;
#if defined(__linux__)
  munmap(base_, bytes_);
#else
  std::free(base_);
#endif
  base_ = nullptr;
}

namespace {

// Never destroyed: threads may still be at work when a process ends.
std::mutex& kept_lock = *new std::mutex;
std::vector<Pages>& kept = *new std::vector<Pages>;  // the smallest first

constexpr size_t kMostKept = 8;

}  // namespace

Borrowed::Borrowed(int64_t count) {
  {
    const std::lock_guard<std::mutex> guard(kept_lock);
    // The smallest that is large enough; or else the largest, to grow.
    auto found = std::find_if(kept.begin(), kept.end(), [count](const Pages& p) { return p.count() >= count; });
    if (found == kept.end() && !kept.empty()) --found;
    if (found != kept.end()) {
      pages_ = std::move(*found);
      kept.erase(found);
    }
  }
  if (pages_.count() >= count) return;
  pages_ = Pages();  // before the larger one is there
  pages_ = Pages(count);
}

Borrowed::~Borrowed() {
  if (pages_.count() == 0) return;
  const std::lock_guard<std::mutex> guard(kept_lock);
  const auto place = std::find_if(kept.begin(), kept.end(), [this](const Pages& p) { return p.count() > pages_.count(); });
  try {
    kept.insert(place, std::move(pages_));
  } catch (const std::bad_alloc&) {
    return;
  }
  if (kept.size() > kMostKept) kept.erase(kept.begin());
}

float* thread_scratch(int64_t count) {
  // The interpreter's threads come and go; what they leave the next ones take.
  thread_local std::unique_ptr<Borrowed> scratch;
  if (scratch == nullptr || scratch->count() < count) {
    scratch.reset();
    scratch = std::make_unique<Borrowed>(count);
  }
  return scratch->data();
}

Work::~Work() { std::free(partials); }

void Work::cut(int64_t threads) {
  const ProductCode& code = product_code();
  double total = 0;
  for (const Product& p : products) total += static_cast<double>(p.m) * p.n * std::max<int64_t>(p.k, 1);
  int64_t needed = 0;
  for (int64_t index = 0; index < static_cast<int64_t>(products.size()); ++index) {
    const Product& p = products[index];
    if (p.m == 0 || p.n == 0) continue;
    const double size = static_cast<double>(p.m) * p.n * std::max<int64_t>(p.k, 1);
    int64_t wanted = 1;
    if (threads > 1 && total > kWorthThreads) {
      // Several parts a thread even out what other work on the machine takes from it.
      const double each = std::min(total / threads, std::max(total / (4 * threads), kLargePart));
      wanted = std::max<int64_t>(1, static_cast<int64_t>(size / each + 0.5));
      // Three parts take two threads as long as four.
      if (wanted > 1 && products.size() < static_cast<size_t>(threads)) wanted = (wanted + threads - 1) / threads * threads;
    }
    const Grid grid = best_grid(p, code, wanted);
    const int64_t first = static_cast<int64_t>(parts.size());
    for (int64_t i = 0; i < grid.m; ++i) {
      for (int64_t j = 0; j < grid.n; ++j) {
        for (int64_t l = 0; l < grid.k; ++l) {
          parts.push_back({index, cut_at(p.m, 1, i, grid.m), cut_at(p.m, 1, i + 1, grid.m),
                           cut_at(p.n, code.columns, j, grid.n), cut_at(p.n, code.columns, j + 1, grid.n),
                           cut_at(p.k, 1, l, grid.k), cut_at(p.k, 1, l + 1, grid.k), nullptr});
        }
      }
    }
    if (grid.k > 1) {
      needed += grid.k * p.m * p.n;
      // The parts of one sum share nothing but their place in k.
      const int64_t pieces = std::min<int64_t>(p.m, threads);
      for (int64_t i = 0; i < pieces; ++i) {
        sums.push_back({index, first, grid.k, cut_at(p.m, 1, i, pieces), cut_at(p.m, 1, i + 1, pieces)});
      }
    }
  }
  if (needed == 0) return;
  partials = allocate(needed);
  float* next = partials;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (i > 0 && sums[i].product == sums[i - 1].product) continue;
    const Product& p = products[sums[i].product];
    for (Part& part : parts) {
      if (part.product != sums[i].product) continue;
      part.partial = next + (&part - &parts[sums[i].first]) % sums[i].count * p.m * p.n;
    }
    next += sums[i].count * p.m * p.n;
  }
}

void Work::compute(int64_t part) const {
  const ProductCode& code = product_code();
  code.compute(products[parts[part].product], parts[part], thread_scratch(code.scratch));
}

void Work::add(int64_t sum) const {
  const Sum& s = sums[sum];
  product_code().add(&parts[s.first], s.count, products[s.product], s.m0, s.m1);
}

void compute(const Work& work, const Threading& threading) {
  threading.each(static_cast<int64_t>(work.parts.size()), [&](int64_t part) { work.compute(part); });
  if (work.sums.empty()) return;
  threading.each(static_cast<int64_t>(work.sums.size()), [&](int64_t sum) { work.add(sum); });
}

}  // namespace headrace
