// Products of matrices for one kind of CPU; the file that includes this defines before, in an anonymous namespace:
// HEADRACE_TARGET, the attribute of every function; V, a register of kLanes numbers, and what is done with them;
// kRows and kVectors, the size of the tile that is kept in registers.

constexpr int64_t kColumns = kLanes * kVectors;  // of a tile
constexpr int64_t kMostDeep = 512;               // terms that are added up before a tile is written,
constexpr int64_t kDeep = 256;                   // and as many where there are many columns
constexpr int64_t kWholeDeep = 320;              // or where the right operand is kept as a whole
constexpr int64_t kFewColumns = 128;
constexpr int64_t kFewestChannels = 16;          // of patches with several regions
constexpr int64_t kFewTerms = 32;                // so few that looking ahead would take longer than multiplying
constexpr int64_t kRowStride = kMostDeep + 16;   // of packed rows: no power of two; there is room behind
constexpr int64_t kTurnedStride = kRows <= 8 ? 8 : 16;  // of packed columns
constexpr int64_t kBlock = 160 * 1024;           // numbers of the right operand that are kept in the cache
constexpr int64_t kPanels = 4;                   // tiles of rows that may be packed at once
constexpr int64_t kDirectPanels = 3;             // of products by a right operand that is not packed
constexpr int64_t kAhead = 8;                    // rows of the right operand that are fetched ahead
constexpr int64_t kPanel = (kTurnedStride > kRows ? kTurnedStride : kRows) * kRowStride;  // numbers of a packed panel
constexpr int64_t kScratch = kBlock + kPanels * kPanel;

static_assert(kRows <= kTurnedStride, "a packed column fits");

HEADRACE_TARGET inline void copy(float* to, const float* from, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load(from + i));
  if (i < count) store_some(to + i, load_some(from + i, count - i), count - i);
}

HEADRACE_TARGET inline void clear(float* to, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, V{});
  if (i < count) store_some(to + i, V{}, count - i);
}

// As above, but whole registers are written: what lies behind is spoilt. A masked store is slower, and is not passed on
// to a load that follows.
HEADRACE_TARGET inline void copy_over(float* to, const float* from, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load(from + i));
  if (i < count) store(to + i, load_some(from + i, count - i));
}

HEADRACE_TARGET inline void clear_over(float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) store(to + i, V{});
}

// Copies `rows` times `count` numbers, spoiling what lies behind each copy up to the end of a register.
HEADRACE_TARGET inline void copy_rows(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows,
                                      int64_t count) {
  if (count <= kLanes) {
    for (int64_t i = 0; i < rows; ++i) store(to + i * to_stride, load_some(from + i * from_stride, count));
  } else {
    for (int64_t i = 0; i < rows; ++i) copy_over(to + i * to_stride, from + i * from_stride, count);
  }
}

// -- what becomes of sums ------------------------------------------------------------------------------------------

HEADRACE_INLINE V load_up_to(const float* p, int64_t count) { return count >= kLanes ? load(p) : load_some(p, count); }

HEADRACE_INLINE void store_up_to(float* p, V v, int64_t count) {
  if (count >= kLanes) return store(p, v);
  store_some(p, v, count);
}

// Finishes sums that have been written.
template <bool kAdded>
HEADRACE_TARGET inline void finish_rows(const Finish& of, float* const* rows, int64_t count, int64_t column, int64_t columns) {
  const float one = 1.0f, zero = -0.0f;  // to add this one changes nothing, not even a zero
  const V least = spread(&of.least), most = spread(&of.most);
  for (int64_t n = column; n < column + columns; n += kLanes) {
    const int64_t rest = column + columns - n;
    const V factor = of.factor == nullptr ? spread(&one) : load_up_to(of.factor + n, rest);
    const V bias = of.bias == nullptr ? spread(&zero) : load_up_to(of.bias + n, rest);
    for (int64_t i = 0; i < count; ++i) {
      float* to = rows[i] + n;
      V v = multiply_add(load_up_to(to, rest), factor, bias);
      if (kAdded) v += load_up_to(of.added + (to - of.result), rest);
      store_up_to(to, at_most(at_least(v, least), most), rest);
    }
  }
}

HEADRACE_TARGET void finish_tile(const Finish& of, float* const* rows, int64_t count, int64_t column, int64_t columns) {
  if (of.added == nullptr) {
    finish_rows<false>(of, rows, count, column, columns);
  } else {
    finish_rows<true>(of, rows, count, column, columns);
  }
}

// -- the tile --------------------------------------------------------------------------------------------------

// What will be needed after the tile and is fetched from memory while it is computed.
struct Ahead {
  const float* rows[16];  // of the next panel; or, where the left operand is turned, of both operands
  int64_t steps[2];
};

using Tile = void (*)(int64_t deep, const float* left, const float* right, int64_t stride, float* const* rows,
                      int64_t column, int64_t columns, bool add, const Ahead& ahead, const Finish* finish);

// Computes a tile of MR rows and NV registers of columns, of which `columns` numbers are written; with kFinished as
// `finish` says.
template <int MR, int NV, bool kTurned, bool kFinished>
HEADRACE_TARGET void tile(int64_t deep, const float* left, const float* right, int64_t stride, float* const* rows,
                          int64_t column, int64_t columns, bool add, const Ahead& ahead, const Finish* finish) {
  constexpr int64_t kRowStep = kTurned ? 1 : kRowStride, kDeepStep = kTurned ? kTurnedStride : 1;
  V sums[MR][NV];
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i) {
    prefetch(rows[i] + column);
    if (NV * kLanes > 16) prefetch(rows[i] + column + 16);
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j) sums[i][j] = V{};
  }
  const float *next_left = ahead.rows[0], *next_right = ahead.rows[1];
  for (int64_t k = 0; k < deep; ++k) {
    if (kTurned) {
      prefetch(next_left);
      prefetch(next_right);
      next_left += ahead.steps[0];
      next_right += ahead.steps[1];
    } else {
      prefetch(ahead.rows[k & 15] + (k & ~int64_t{15}));
    }
    V b[NV];
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j) {
      prefetch(right + kAhead * stride + j * kLanes);
      b[j] = load(right + j * kLanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      const V a = spread(left + i * kRowStep);
#pragma GCC unroll 2
      for (int j = 0; j < NV; ++j) sums[i][j] = multiply_add(a, b[j], sums[i][j]);
    }
    left += kDeepStep;
    right += stride;
  }
  if (kFinished) {
    const float one = 1.0f, zero = -0.0f;
    const V least = spread(&finish->least), most = spread(&finish->most);
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j) {
      const int64_t n = column + j * kLanes, rest = columns - j * kLanes;
      if (rest <= 0) continue;
      if (add) {
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) sums[i][j] = load_up_to(rows[i] + n, rest) + sums[i][j];
      }
      const V factor = finish->factor == nullptr ? spread(&one) : load_up_to(finish->factor + n, rest);
      const V bias = finish->bias == nullptr ? spread(&zero) : load_up_to(finish->bias + n, rest);
#pragma GCC unroll 16
      for (int i = 0; i < MR; ++i) sums[i][j] = multiply_add(sums[i][j], factor, bias);
      if (finish->added != nullptr) {
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
          sums[i][j] += load_up_to(finish->added + (rows[i] + n - finish->result), rest);
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < MR; ++i) sums[i][j] = at_most(at_least(sums[i][j], least), most);
    }
    add = false;
  }
  if (columns == NV * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i) {
      float* to = rows[i] + column;
#pragma GCC unroll 2
      for (int j = 0; j < NV; ++j) store(to + j * kLanes, add ? load(to + j * kLanes) + sums[i][j] : sums[i][j]);
    }
    return;
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; ++i) {
    float* to = rows[i] + column;
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j) {
      const int64_t rest = columns - j * kLanes;
      if (rest >= kLanes) {
        store(to + j * kLanes, add ? load(to + j * kLanes) + sums[i][j] : sums[i][j]);
      } else if (rest > 0) {
        V sum = sums[i][j];
        if (add) sum += load_some(to + j * kLanes, rest);
        store_some(to + j * kLanes, sum, rest);
      }
    }
  }
}

template <int NV, bool kTurned, bool kFinished, int... MR>
constexpr void fill(Tile* tiles, std::integer_sequence<int, MR...>) {
  ((tiles[MR] = tile<MR + 1, NV, kTurned, kFinished>), ...);
}

struct Tiles {
  Tile of[3][2][kRows];  // packed by rows, turned, or by rows and finished; one register of columns or two; rows - 1
  constexpr Tiles() : of() {
    using Rows = std::make_integer_sequence<int, kRows>;
    fill<1, false, false>(of[0][0], Rows());
    fill<2, false, false>(of[0][1], Rows());
    fill<1, true, false>(of[1][0], Rows());
    fill<2, true, false>(of[1][1], Rows());
    fill<1, false, true>(of[2][0], Rows());
    fill<2, false, true>(of[2][1], Rows());
  }
};
constexpr Tiles kTiles;

inline int64_t pieces(int64_t size, int64_t most) { return (size + most - 1) / most; }

// -- packing the left operand --------------------------------------------------------------------------------------

struct Place {
  int64_t image, at[3];
};

inline const Region& region_of(const Left& left, int64_t row) {
  const Region* region = left.regions.data();
  for (int64_t more = static_cast<int64_t>(left.regions.size()) - 1; more > 0 && region[1].row <= row; --more) ++region;
  return *region;
}

inline Place place_of(int64_t index, const int64_t* sizes) {
  Place p;
  p.at[2] = index % sizes[2];
  index /= sizes[2];
  p.at[1] = index % sizes[1];
  index /= sizes[1];
  p.at[0] = index % sizes[0];
  p.image = index / sizes[0];
  return p;
}

inline void advance(Place& p, const int64_t* sizes) {
  if (++p.at[2] < sizes[2]) return;
  p.at[2] = 0;
  if (++p.at[1] < sizes[1]) return;
  p.at[1] = 0;
  if (++p.at[0] < sizes[0]) return;
  p.at[0] = 0;
  ++p.image;
}

// Numbers side by side in the window that are side by side in memory, too.
struct Run {
  int64_t at[3], offset, count;  // offset: the first one's, among those of this element of the window
};

inline Run run_of(const Patches& of, int64_t column) {
  const int64_t length = of.run(), across = of.is_dense() ? 1 : of.window[2];
  int64_t index = column / length;
  Run run;
  run.offset = column % length;
  run.count = length - run.offset;
  run.at[2] = index % across;
  index /= across;
  run.at[1] = index % of.window[1];
  run.at[0] = index / of.window[1];
  return run;
}

inline void advance(Run& run, const Patches& of) {
  run.offset = 0;
  run.count = of.run();
  if (++run.at[2] < (of.is_dense() ? 1 : of.window[2])) return;
  run.at[2] = 0;
  if (++run.at[1] < of.window[1]) return;
  run.at[1] = 0;
  ++run.at[0];
}

// Copies what of `count` numbers from `offset` on lies in a row of `width` numbers; the rest is zero.
HEADRACE_TARGET inline void copy_inside(float* to, const float* row, int64_t offset, int64_t count, int64_t width) {
  if (offset >= 0 && offset + count <= width) return copy(to, row + offset, count);
  int64_t begin = offset < 0 ? -offset : 0, end = offset + count > width ? width - offset : count;
  if (begin > count) begin = count;
  if (end < begin) end = begin;
  clear(to, begin);
  copy(to + begin, row + offset + begin, end - begin);
  clear(to + end, count - end);
}

HEADRACE_TARGET void pack_patches(const Left& left, int64_t first, int64_t count, int64_t column, int64_t deep,
                                  float* to) {
  const Patches& of = left.patches;
  const Region& region = region_of(left, first);
  const int64_t row = of.size[2] * of.pixel, image = of.size[0] * of.size[1] * row;
  const bool dense = of.is_dense();
  const float* images[kRows];
  int64_t corners[kRows][3];
  bool inside[kRows];  // whether the whole window is
  Place p = place_of(first - region.row, region.size);
  for (int64_t i = 0; i < count; ++i) {
    images[i] = left.data + p.image * image;
    inside[i] = true;
    for (int a = 0; a < 3; ++a) {
      corners[i][a] = (region.first[a] + p.at[a]) * of.step[a] - of.before[a];
      inside[i] &= corners[i][a] + region.taps[a][0] * of.dilation[a] >= 0 &&
                   corners[i][a] + (region.taps[a][1] - 1) * of.dilation[a] < of.size[a];
    }
    advance(p, region.size);
  }
  Run run = run_of(of, column);
  for (int64_t done = 0; done < deep; advance(run, of)) {
    if (run.count > deep - done) run.count = deep - done;
    const int64_t z = run.at[0] * of.dilation[0], y = run.at[1] * of.dilation[1], x = run.at[2] * of.dilation[2];
    float* target = to + done;
    for (int64_t i = 0; i < count; ++i, target += kRowStride) {
      const int64_t d = corners[i][0] + z, h = corners[i][1] + y, w = corners[i][2] + x;
      const float* from = images[i] + (d * of.size[1] + h) * row;
      if (inside[i]) {
        copy_over(target, from + w * of.pixel + run.offset, run.count);
      } else if (d < 0 || d >= of.size[0] || h < 0 || h >= of.size[1] || (!dense && (w < 0 || w >= of.size[2]))) {
        clear_over(target, run.count);
      } else {
        copy_inside(target, from, w * of.pixel + run.offset, run.count, row);
      }
    }
    done += run.count;
  }
}

// Packs columns `first` and on of the patches: `count` numbers of each of `deep` places from `place` on, all of one
// region.
HEADRACE_TARGET void pack_turned_patches(const Left& left, int64_t first, int64_t count, int64_t place, int64_t deep,
                                         float* to) {
  const Patches& of = left.patches;
  const Region& region = region_of(left, place);
  const int64_t row = of.size[2] * of.pixel, image = of.size[0] * of.size[1] * row;
  const bool dense = of.is_dense();
  Run run = run_of(of, first);
  for (int64_t done = 0; done < count; advance(run, of)) {
    if (run.count > count - done) run.count = count - done;
    Place p = place_of(place - region.row, region.size);
    float* target = to + done;
    for (int64_t k = 0; k < deep;) {
      int64_t places = region.size[2] - p.at[2];  // in this row of places
      if (places > deep - k) places = deep - k;
      const int64_t d = (region.first[0] + p.at[0]) * of.step[0] - of.before[0] + run.at[0] * of.dilation[0];
      const int64_t h = (region.first[1] + p.at[1]) * of.step[1] - of.before[1] + run.at[1] * of.dilation[1];
      int64_t w = (region.first[2] + p.at[2]) * of.step[2] - of.before[2] + run.at[2] * of.dilation[2];
      if (d < 0 || d >= of.size[0] || h < 0 || h >= of.size[1]) {
        for (int64_t i = 0; i < places; ++i, target += kTurnedStride) clear(target, run.count);
      } else {
        const float* from = left.data + p.image * image + (d * of.size[1] + h) * row;
        const int64_t across = of.step[2] * of.pixel;
        int64_t offset = w * of.pixel + run.offset, i = 0;
        for (; i < places && offset < 0; ++i, target += kTurnedStride, offset += across, w += of.step[2]) {
          if (!dense) {
            clear(target, run.count);  // the pixel is outside; its channels are all on one side
          } else {
            copy_inside(target, from, offset, run.count, row);
          }
        }
        // Of those left, so many lie inside as a whole.
        int64_t inside = offset + run.count > row ? 0 : (row - run.count - offset) / across + 1;
        if (inside > places - i) inside = places - i;
        const float* source = from + offset;
        if (done == 0) {  // the others are written afterwards
          copy_rows(target, kTurnedStride, source, across, inside, run.count);
          target += inside * kTurnedStride;
        } else {
          for (int64_t j = 0; j < inside; ++j, target += kTurnedStride, source += across) copy(target, source, run.count);
        }
        i += inside;
        offset += inside * across;
        for (; i < places; ++i, target += kTurnedStride, offset += across) {
          if (!dense) {
            clear(target, run.count);
          } else {
            copy_inside(target, from, offset, run.count, row);
          }
        }
      }
      k += places;
      p.at[2] += places - 1;
      advance(p, region.size);
    }
    done += run.count;
  }
}

HEADRACE_TARGET void pack_left(const Left& left, int64_t first, int64_t count, int64_t k, int64_t deep, float* to) {
  if (deep == 0) return;
  switch (left.kind) {
    case Left::kRows:
      for (int64_t i = 0; i < count; ++i) copy_over(to + i * kRowStride, left.data + (first + i) * left.stride + k, deep);
      break;
    case Left::kColumns:
      copy_rows(to, kTurnedStride, left.data + k * left.stride + first, left.stride, deep, count);
      break;
    case Left::kPatches:
      pack_patches(left, first, count, k, deep, to);
      break;
    case Left::kTurnedPatches:
      pack_turned_patches(left, first, count, k, deep, to);
      break;
  }
}

// Says what the panel of rows from `first` on, `count` of them, will read: of patches, the pixels that come last.
inline void look_ahead(const Left& left, int64_t first, int64_t count, int64_t k, int64_t deep, const float* hot,
                       Ahead& ahead) {
  for (int i = 0; i < 16; ++i) ahead.rows[i] = hot;
  if (left.kind == Left::kRows) {
    for (int64_t i = 0; i < count; ++i) ahead.rows[i] = left.data + (first + i) * left.stride + k;
  } else if (left.kind == Left::kPatches && k == 0 && deep >= kFewTerms) {
    const Patches& of = left.patches;
    const Region& region = region_of(left, first);
    Place p = place_of(first - region.row, region.size);
    for (int64_t i = 0; i < count; ++i) {
      int64_t at[3];
      for (int a = 0; a < 3; ++a) {
        at[a] = (region.first[a] + p.at[a]) * of.step[a] - of.before[a] + (of.window[a] - 1) * of.dilation[a];
        if (at[a] < 0 || at[a] >= of.size[a]) at[a] = 0;
      }
      ahead.rows[i] = left.data + (((p.image * of.size[0] + at[0]) * of.size[1] + at[1]) * of.size[2] + at[2]) * of.pixel;
      advance(p, region.size);
    }
  }
}

// -- packing the right operand -------------------------------------------------------------------------------------

inline int64_t padded(int64_t columns) { return columns <= kLanes ? kLanes : kColumns; }

// `count` columns from `first` on become panels of kColumns side by side, the last filled up with zeros.
HEADRACE_TARGET void pack_rows(const Right& right, int64_t first, int64_t count, int64_t k, int64_t deep, float* to) {
  constexpr int64_t kTogether = 4;  // rows; memory is read in order, as far as it goes
  const int64_t full = count / kColumns * kColumns, stride = right.stride;
  for (int64_t done = 0; done < deep; done += kTogether) {
    const int64_t rows = deep - done < kTogether ? deep - done : kTogether;
    const float* from = right.data + (k + done) * stride + first;
    for (int64_t n = 0; n < full; n += kColumns) {
      float* panel = to + n * deep + done * kColumns;
      for (int64_t j = 0; j < rows; ++j) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          prefetch(from + (j + kTogether) * stride + n + v * kLanes);
          store(panel + j * kColumns + v * kLanes, load(from + j * stride + n + v * kLanes));
        }
      }
    }
    if (full == count) continue;
    const int64_t rest = count - full, width = padded(rest);
    float* panel = to + full * deep + done * width;
    for (int64_t j = 0; j < rows; ++j) {
      copy(panel + j * width, from + j * stride + full, rest);
      clear(panel + j * width + rest, width - rest);
    }
  }
}

HEADRACE_TARGET void pack_columns(const Right& right, int64_t first, int64_t count, int64_t k, int64_t deep, float* to) {
  for (int64_t done = 0; done < deep;) {
    const int64_t at = k + done, within = at % right.run;
    int64_t length = right.run - within;
    if (length > deep - done) length = deep - done;
    const float* from = right.data + right.offsets[at / right.run] + within + first * right.stride;
    for (int64_t n = 0; n < count; n += kLanes) {
      const int64_t panel = n / kColumns * kColumns, width = padded(count - panel);
      float* target = to + panel * deep + done * width + n - panel;
      const int64_t high = count - n < kLanes ? count - n : kLanes;
      for (int64_t j = 0; j < length; j += kLanes) {
        const int64_t wide = length - j < kLanes ? length - j : kLanes;
        turn(from + n * right.stride + j, right.stride, high, wide, target + j * width, width);
      }
    }
    done += length;
  }
}

// As pack_rows, where k is a place of a region.
HEADRACE_TARGET void pack_places(const Product& of, int64_t first, int64_t count, int64_t k, int64_t deep, float* to) {
  const int64_t* sizes = of.left.patches.outputs;
  const int64_t full = count / kColumns * kColumns, rest = count - full, width = padded(rest);
  for (int64_t done = 0; done < deep;) {
    const Region& region = region_of(of.left, k + done);
    const Region* last = of.left.regions.data() + of.left.regions.size() - 1;
    int64_t end = &region == last ? deep : (&region)[1].row - k;
    if (end > deep) end = deep;
    Place p = place_of(k + done - region.row, region.size);
    for (; done < end; ++done) {
      int64_t place = p.image;
      for (int a = 0; a < 3; ++a) place = place * sizes[a] + region.first[a] + p.at[a];
      const float* from = of.right.data + place * of.right.stride + first;
      for (int64_t n = 0; n < full; n += kColumns) copy(to + n * deep + done * kColumns, from + n, kColumns);
      if (rest > 0) {
        float* panel = to + full * deep + done * width;
        copy(panel, from + full, rest);
        clear(panel + rest, width - rest);
      }
      advance(p, region.size);
    }
  }
}

HEADRACE_TARGET void pack_right(const Product& of, int64_t first, int64_t count, int64_t k, int64_t deep, float* to) {
  const Right& right = of.right;
  if (right.is_grid) {
    pack_places(of, first, count, k, deep, to);
  } else if (right.kind == Right::kRows) {
    pack_rows(right, first, count, k, deep, to);
  } else {
    pack_columns(right, first, count, k, deep, to);
  }
}

// -- a part of a product -------------------------------------------------------------------------------------------

inline void rows_of(const Product& of, const Part& part, int64_t first, int64_t count, float** rows) {
  if (part.partial != nullptr) {
    for (int64_t i = 0; i < count; ++i) rows[i] = part.partial + (first + i) * of.n;
    return;
  }
  const Out& out = of.out;
  if (!out.is_grid) {
    for (int64_t i = 0; i < count; ++i) rows[i] = out.data + (first + i) * out.stride;
    return;
  }
  const Region& region = region_of(of.left, first);
  Place p = place_of(first - region.row, region.size);
  for (int64_t i = 0; i < count; ++i) {
    rows[i] = out.data + p.image * out.strides[0];
    for (int a = 0; a < 3; ++a) rows[i] += (region.first[a] + p.at[a]) * out.strides[a + 1];
    advance(p, region.size);
  }
}

inline bool is_turned(const Left& left) { return left.kind == Left::kColumns || left.kind == Left::kTurnedPatches; }

// Some columns of a part, and some terms of its sums.
struct Block {
  int64_t n, wide, k, deep;
  bool add, last;  // to what is there already; whether nothing will be added
  bool direct;     // whether the right operand is read where it lies
};

// The rows of a tile; all are of one region.
struct Panel {
  int64_t first, count;
};

inline Panel panel_after(const Product& of, const Part& part, int64_t row) {
  int64_t begin = part.m0, end = part.m1;
  if (of.left.kind == Left::kPatches) {
    const Region& region = region_of(of.left, row);
    const Region* last = of.left.regions.data() + of.left.regions.size() - 1;
    if (region.row > begin) begin = region.row;
    if (&region != last && (&region)[1].row < end) end = (&region)[1].row;
  } else if (of.right.is_grid) {  // one element of the window only
    const int64_t channels = of.left.patches.channels, tap = row / channels;
    if (tap * channels > begin) begin = tap * channels;
    if ((tap + 1) * channels < end) end = (tap + 1) * channels;
  }
  // All panels of a region are as high, or one lower.
  const int64_t count = pieces(end - begin, kRows), high = (end - begin) / count, higher = (end - begin) % count;
  const bool is_higher = row - begin < higher * (high + 1);
  return {row, is_higher ? high + 1 : high};
}

// Says what the next block of a product with a turned left operand will read in place of what this tile reads.
inline void look_beyond(const Product& of, const Part& part, int64_t k, const Panel& panel, bool is_first,
                        int64_t column, const float* hot, Ahead& ahead) {
  ahead.rows[0] = ahead.rows[1] = hot;
  ahead.steps[0] = ahead.steps[1] = 0;
  if (k >= part.k1) return;
  if (is_first && of.left.kind == Left::kColumns) {
    ahead.rows[0] = of.left.data + k * of.left.stride + panel.first;
    ahead.steps[0] = of.left.stride;
  }
  // The first panel's tiles fetch one line of each row, the second panel's the other.
  const int64_t number = panel.first == part.m0 ? 0 : panel.first <= part.m0 + kRows ? 1 : 2;
  if (number < 2 && of.right.kind == Right::kRows && !of.right.is_grid) {
    ahead.rows[1] = of.right.data + k * of.right.stride + column + number * 16;
    ahead.steps[1] = of.right.stride;
  }
}

struct Terms {
  int64_t k, deep;
};

constexpr int64_t kMostTerms = 66;  // regions at most, or lines of the window in a block
static_assert(kMostDeep / kFewestChannels + 2 <= kMostTerms, "a line has a few terms at least");

// Which places of a block see an element of the window; of each region for itself.
inline int64_t terms_of_regions(const Product& of, int64_t row, int64_t k, int64_t deep, Terms* terms) {
  const int64_t* window = of.left.patches.window;
  const int64_t tap = row / of.left.patches.channels;
  const int64_t at[3] = {tap / (window[1] * window[2]), tap / window[2] % window[1], tap % window[2]};
  const int64_t regions = static_cast<int64_t>(of.left.regions.size());
  int64_t count = 0;
  for (int64_t r = 0; r < regions; ++r) {
    const Region& region = of.left.regions[r];
    bool is_seen = true;
    for (int a = 0; a < 3; ++a) is_seen &= at[a] >= region.taps[a][0] && at[a] < region.taps[a][1];
    const int64_t begin = region.row > k ? region.row : k;
    int64_t end = r + 1 < regions ? of.left.regions[r + 1].row : of.k;
    if (end > k + deep) end = k + deep;
    if (is_seen && begin < end) terms[count++] = {begin, end - begin};
  }
  return count;
}

// Which terms of a block are no products with padding.
inline int64_t terms_of(const Product& of, int64_t row, int64_t k, int64_t deep, Terms* terms) {
  terms[0] = {k, deep};
  if (of.right.is_grid) return terms_of_regions(of, row, k, deep, terms);
  if (of.left.kind != Left::kPatches) return 1;
  const Patches& patches = of.left.patches;
  const auto& taps = region_of(of.left, row).taps;
  bool is_all = true;
  for (int a = 0; a < 3; ++a) is_all &= taps[a][0] == 0 && taps[a][1] == patches.window[a];
  if (is_all) return 1;
  const int64_t line = patches.window[2] * patches.channels;  // terms of a line of the window
  int64_t count = 0;
  for (int64_t i = taps[0][0]; i < taps[0][1]; ++i) {
    for (int64_t j = taps[1][0]; j < taps[1][1]; ++j) {
      int64_t begin = (i * patches.window[1] + j) * line, end = begin + taps[2][1] * patches.channels;
      begin += taps[2][0] * patches.channels;
      if (begin < k) begin = k;
      if (end > k + deep) end = k + deep;
      if (begin >= end) continue;
      if (count > 0 && terms[count - 1].k + terms[count - 1].deep == begin) {
        terms[count - 1].deep += end - begin;
      } else {
        terms[count++] = {begin, end - begin};
      }
    }
  }
  return count;
}

// Multiplies some panels of rows by a block of the right operand, packed in `right`; `left` is scratch. After that come
// a panel from row `next` on and the terms from `next_k` on.
HEADRACE_TARGET void multiply(const Product& of, const Part& part, const Block& block, const Panel* panels,
                              int64_t group, int64_t next, int64_t next_k, float* right, float* left) {
  const int64_t n = block.n, k = block.k, deep = block.deep;
  const bool turned = is_turned(of.left);
  const Finish* finish = of.is_finished && block.last && part.partial == nullptr ? &of.finish : nullptr;
  Terms terms[kMostTerms];
  int64_t count = terms_of(of, panels[0].first, k, deep, terms);
  if (count == 0) {
    if (block.add && finish == nullptr) return;
    terms[count++] = {k, 0};  // nothing is added up
  }
  float* rows[kPanels][kRows];
  for (int64_t g = 0; g < group; ++g) {
    for (int64_t t = 0; t < count; ++t) {
      pack_left(of.left, panels[g].first, panels[g].count, terms[t].k, terms[t].deep,
                left + g * kPanel + (terms[t].k - k) * (turned ? kTurnedStride : 1));
    }
    rows_of(of, part, panels[g].first, panels[g].count, rows[g]);
  }
  Ahead ahead;
  if (!turned) {
    const int64_t more = next < part.m1 ? panel_after(of, part, next).count : 0;
    look_ahead(of.left, next, more, next_k, deep, left, ahead);
  }
  const float* from = right;
  for (int64_t j = 0; j < block.wide; j += kColumns) {
    if (turned) {
      look_beyond(of, part, k + deep, panels[0], j == 0, n + j, left, ahead);
    } else if (j == kColumns) {
      for (int i = 0; i < 16; ++i) ahead.rows[i] = left;
    }
    const int64_t columns = block.wide - j < kColumns ? block.wide - j : kColumns;
    int64_t stride = padded(columns);
    const int64_t vectors = stride / kLanes;
    if (block.direct) {
      if (columns == stride) {
        from = of.right.data + k * of.right.stride + n + j;
        stride = of.right.stride;
      } else {
        pack_right(of, n + j, columns, k, deep, right);
        from = right;
      }
    }
    for (int64_t g = 0; g < group; ++g) {
      const auto& tiles = kTiles.of;
      for (int64_t t = 0; t < count; ++t) {
        const int64_t skipped = terms[t].k - k;
        const int kind = turned ? 1 : finish != nullptr && t + 1 == count ? 2 : 0;
        tiles[kind][vectors - 1][panels[g].count - 1](
            terms[t].deep, left + g * kPanel + skipped * (turned ? kTurnedStride : 1), from + skipped * stride, stride, rows[g],
            n + j, columns, block.add || t > 0, ahead, finish);
      }
      if (turned && finish != nullptr) finish_tile(*finish, rows[g], panels[g].count, n + j, columns);
    }
    from += deep * stride;
  }
}

HEADRACE_TARGET void compute(const Product& of, const Part& part, float* scratch) {
  const int64_t deep_total = part.k1 - part.k0, wide_total = part.n1 - part.n0;
  // With few rows packing the right operand would take as long as multiplying by it.
  const bool direct = of.right.kind == Right::kRows && !of.right.is_grid && part.m1 - part.m0 <= kDirectPanels * kRows;
  // If all of the right operand fits the cache, a panel of rows is finished before the next.
  const bool whole = !direct && pieces(wide_total, kLanes) * kLanes * deep_total <= kBlock;
  const int64_t most_terms = whole ? kWholeDeep : wide_total <= kFewColumns ? kMostDeep : kDeep;
  const int64_t steps = deep_total > 0 ? pieces(deep_total, most_terms) : 1;
  const int64_t most_deep = pieces(pieces(deep_total, steps), kLanes) * kLanes;  // at most kMostDeep
  int64_t most_wide = wide_total;
  if (!direct && !whole) most_wide = kBlock / most_deep / kColumns * kColumns;
  // Short panels are packed together, so that none is read while it is still on its way to memory.
  const int64_t most = direct ? kDirectPanels : deep_total <= kFewTerms && !of.right.is_grid ? kPanels : 1;
  float* right = scratch;
  float* left = scratch + kBlock;
  const auto block_of = [&](int64_t n, int64_t step) {
    const int64_t k = part.k0 + step * most_deep;
    return Block{n, part.n1 - n < most_wide ? part.n1 - n : most_wide,     k,
                 part.k1 - k < most_deep ? part.k1 - k : most_deep, step > 0 || (of.adds && part.partial == nullptr),
                 step + 1 == steps, direct};
  };
  // Panels that are computed together; returns the row behind them.
  const auto gather = [&](int64_t row, Panel* panels, int64_t& group) {
    group = 0;
    do {
      panels[group] = panel_after(of, part, row);
      row += panels[group++].count;
    } while (group < most && row < part.m1 &&
             (of.left.kind != Left::kPatches || &region_of(of.left, row) == &region_of(of.left, panels[0].first)));
    return row;
  };
  Panel panels[kPanels];
  int64_t group;
  if (whole) {
    const int64_t width = pieces(wide_total, kLanes) * kLanes;
    for (int64_t step = 0; step < steps; ++step) {
      const Block block = block_of(part.n0, step);
      pack_right(of, block.n, block.wide, block.k, block.deep, right + step * most_deep * width);
    }
    for (int64_t row = part.m0, next; row < part.m1; row = next) {
      next = gather(row, panels, group);
      for (int64_t step = 0; step < steps; ++step) {
        const bool is_last = step + 1 == steps;
        multiply(of, part, block_of(part.n0, step), panels, group, is_last ? next : row,
                 is_last ? part.k0 : part.k0 + (step + 1) * most_deep, right + step * most_deep * width, left);
      }
    }
    return;
  }
  for (int64_t n = part.n0; n < part.n1; n += most_wide) {
    for (int64_t step = 0; step < steps; ++step) {
      const Block block = block_of(n, step);
      if (!direct) pack_right(of, n, block.wide, block.k, block.deep, right);
      for (int64_t row = part.m0, next; row < part.m1; row = next) {
        next = gather(row, panels, group);
        multiply(of, part, block, panels, group, next, block.k, right, left);
      }
    }
  }
}

// Adds up the parts of a sum, in their order, for some of its rows.
HEADRACE_TARGET void add_parts(const Part* parts, int64_t count, const Product& of, int64_t m0, int64_t m1) {
  Part whole{};
  for (int64_t i = m0; i < m1; ++i) {
    float* to;
    rows_of(of, whole, i, 1, &to);
    for (int64_t n = 0; n < of.n; n += kLanes) {
      const int64_t rest = of.n - n;
      V sum = load_up_to(parts[0].partial + i * of.n + n, rest);
      if (of.adds) sum += load_up_to(to + n, rest);
      for (int64_t p = 1; p < count; ++p) sum += load_up_to(parts[p].partial + i * of.n + n, rest);
      store_up_to(to + n, sum, rest);
    }
    if (of.is_finished) finish_tile(of.finish, &to, 1, 0, of.n);
  }
}

constexpr ProductCode kCode = {kName, kRows, kColumns, kScratch, compute, add_parts};
