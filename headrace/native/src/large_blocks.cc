// Large blocks of memory for XLA, kept from step to step in a place of their own.
//
// XLA asks malloc for the memory of a step's intermediate results in one block, anew in each step. Where something small
// has come to lie in the hole that the last one left, malloc takes fresh memory: as much again, every page of which the
// kernel clears first. Here the holes are left to large blocks.

#include "export.h"

#if defined(__linux__) && defined(__LP64__)

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

namespace {

constexpr size_t kPage = size_t{64} << 10;     // blocks begin and end at multiples of it
constexpr size_t kHugePage = size_t{2} << 20;  // the kernel's, for blocks that have room for some
constexpr size_t kLarge = size_t{1} << 20;     // what is smaller is malloc's
// A step begins when the last one's results are there, which may be some microseconds before its block comes back. The
// kernel takes longer to clear as much.
constexpr size_t kWorthWaiting = size_t{64} << 20;
constexpr auto kComesBack = std::chrono::milliseconds(2);

using Aligned = int (*)(void**, size_t, size_t);
using Free = void (*)(void*);

struct Blocks {
  std::mutex lock;
  std::condition_variable came_back;
  std::map<char*, size_t> used, unused;  // sizes by address
  Aligned aligned = &posix_memalign;     // malloc's
  Free free = &std::free;
};

// Never destroyed: threads of XLA's free memory while the process ends.
Blocks& blocks() {
  static Blocks* all = new Blocks;
  return *all;
}

// Takes the smallest unused block that is large enough, the rest of which stays unused; null if there is none.
void* reused(Blocks& all, size_t size) {
  auto best = all.unused.end();
  for (auto it = all.unused.begin(); it != all.unused.end(); ++it) {
    if (it->second >= size && (best == all.unused.end() || it->second < best->second)) best = it;
  }
  if (best == all.unused.end()) return nullptr;
  const auto [at, whole] = *best;
  all.unused.erase(best);
  if (whole > size) all.unused[at + size] = whole - size;
  all.used[at] = size;
  return at;
}

bool one_like_it_is_used(const Blocks& all, size_t size) {
  for (const auto& block : all.used) {
    if (block.second == size) return true;
  }
  return false;
}

void give_back(Blocks& all) {
  for (const auto& block : all.unused) munmap(block.first, block.second);
  all.unused.clear();
}

void* fresh(Blocks& all, size_t size) {
  give_back(all);  // what was too small for this one is not kept beside it
  const size_t multiple = size < 2 * kHugePage ? kPage : kHugePage;
  void* found = mmap(nullptr, size + multiple, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  char* start = static_cast<char*>(found);
  char* at = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(start) + multiple - 1) / multiple * multiple);
  if (at > start) munmap(start, at - start);
  if (at < start + multiple) munmap(at + size, start + multiple - at);
  if (multiple == kHugePage) madvise(at, size, MADV_HUGEPAGE);
  all.used[at] = size;
  return at;
}

// In the place of posix_memalign.
int take(void** out, size_t alignment, size_t bytes) {
  Blocks& all = blocks();
  if (bytes >= kLarge && bytes < SIZE_MAX / 2 && alignment <= kPage) {
    const size_t size = (bytes + kPage - 1) / kPage * kPage;
    std::unique_lock<std::mutex> hold(all.lock);
    void* at = reused(all, size);
    if (at == nullptr && size >= kWorthWaiting && one_like_it_is_used(all, size)) {
      all.came_back.wait_for(hold, kComesBack, [&] { return (at = reused(all, size)) != nullptr; });
    }
    if (at == nullptr) at = fresh(all, size);
    if (at != nullptr) {
      *out = at;
      return 0;
    }
  }
  return all.aligned(out, alignment, bytes);
}

// In the place of free.
void let_go(void* what) {
  Blocks& all = blocks();
  if (what == nullptr || reinterpret_cast<uintptr_t>(what) % kPage != 0) return all.free(what);
  std::unique_lock<std::mutex> hold(all.lock);
  auto it = all.used.find(static_cast<char*>(what));
  if (it == all.used.end()) {
    hold.unlock();
    return all.free(what);
  }
  auto [at, size] = *it;
  all.used.erase(it);
  auto after = all.unused.lower_bound(at);
  if (after != all.unused.end() && after->first == at + size) {
    size += after->second;
    after = all.unused.erase(after);
  }
  if (after != all.unused.begin() && std::prev(after)->first + std::prev(after)->second == at) {
    std::prev(after)->second += size;
  } else {
    all.unused[at] = size;
  }
  hold.unlock();
  all.came_back.notify_all();
}

// Where a library that has been loaded keeps the addresses of functions that it calls in others.
class Calls {
 public:
  explicit Calls(const dl_phdr_info* library) : base_(library->dlpi_addr) {
    const ElfW(Dyn)* entry = nullptr;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      if (library->dlpi_phdr[i].p_type == PT_DYNAMIC) {
        entry = reinterpret_cast<const ElfW(Dyn)*>(base_ + library->dlpi_phdr[i].p_vaddr);
      }
    }
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      const auto value = entry->d_un.d_val;
      const auto pointer = entry->d_un.d_ptr;
      if (entry->d_tag == DT_JMPREL) first_[0] = reinterpret_cast<const ElfW(Rela)*>(pointer);
      if (entry->d_tag == DT_PLTRELSZ) count_[0] = value / sizeof(ElfW(Rela));
      if (entry->d_tag == DT_RELA) first_[1] = reinterpret_cast<const ElfW(Rela)*>(pointer);
      if (entry->d_tag == DT_RELASZ) count_[1] = value / sizeof(ElfW(Rela));
      if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(pointer);
      if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(pointer);
      if (entry->d_tag == DT_PLTREL && value != DT_RELA) return;
    }
    is_known_ = symbols_ != nullptr && names_ != nullptr;
  }

  // Has it call another function in place of one of a name; returns whether it calls that one at all.
  bool redirect(const char* name, uintptr_t function) const {
    bool found = false;
    for (int table = 0; is_known_ && table < 2; ++table) {
      for (size_t i = 0; first_[table] != nullptr && i < count_[table]; ++i) {
        const ElfW(Rela)& at = first_[table][i];
        const auto symbol = ELF64_R_SYM(at.r_info);
        if (symbol == 0 || std::strcmp(names_ + symbols_[symbol].st_name, name) != 0) continue;
        if (!put(base_ + at.r_offset, function)) return false;
        found = true;
      }
    }
    return found;
  }

 private:
  // The loader has made part of them read-only.
  static bool put(uintptr_t place, uintptr_t value) {
    const uintptr_t page = sysconf(_SC_PAGESIZE);
    if (mprotect(reinterpret_cast<void*>(place / page * page), page, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(reinterpret_cast<uintptr_t*>(place), value, __ATOMIC_RELEASE);
    return true;
  }

  uintptr_t base_;
  const ElfW(Rela) * first_[2] = {nullptr, nullptr};
  size_t count_[2] = {0, 0};
  const ElfW(Sym)* symbols_ = nullptr;
  const char* names_ = nullptr;
  bool is_known_ = false;
};

int serve(dl_phdr_info* library, size_t, void* served) {
  const char* name = library->dlpi_name == nullptr ? nullptr : std::strrchr(library->dlpi_name, '/');
  if (name == nullptr || std::strcmp(name, "/libjax_common.so") != 0) return 0;
  const Calls calls(library);
  // Nothing is taken that could not be let go.
  *static_cast<bool*>(served) = calls.redirect("free", reinterpret_cast<uintptr_t>(&let_go)) &&
                                calls.redirect("posix_memalign", reinterpret_cast<uintptr_t>(&take));
  return 1;
}

}  // namespace

// Serves XLA, which must have been loaded; returns whether it does.
HEADRACE_EXPORT int headrace_keep_large_blocks() {
  static const bool kept = [] {
    // A child must not find the lock held by a thread that it does not have.
    pthread_atfork([] { blocks().lock.lock(); }, [] { blocks().lock.unlock(); }, [] { blocks().lock.unlock(); });
    bool served = false;
    dl_iterate_phdr(serve, &served);
    return served;
  }();
  return kept;
}

// Gives the kernel what is not used.
HEADRACE_EXPORT void headrace_return_large_blocks() {
  Blocks& all = blocks();
  std::lock_guard<std::mutex> hold(all.lock);
  give_back(all);
}

// Writes how many bytes of large blocks are used and how many are kept for others.
HEADRACE_EXPORT void headrace_count_large_blocks(int64_t* counts) {
  Blocks& all = blocks();
  std::lock_guard<std::mutex> hold(all.lock);
  counts[0] = counts[1] = 0;
  for (const auto& block : all.used) counts[0] += block.second;
  for (const auto& block : all.unused) counts[1] += block.second;
}

#else

HEADRACE_EXPORT int headrace_keep_large_blocks() { return 0; }
HEADRACE_EXPORT void headrace_return_large_blocks() {}
HEADRACE_EXPORT void headrace_count_large_blocks(int64_t* counts) { counts[0] = counts[1] = 0; }

#endif
