// Views read and written inside programs, against the same walk on the host.
#include "lower/view.h"

#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "hlo/elementwise.h"
#include "hlo/run_hlo.h"
#include "hlo/shape.h"

namespace tpjrt::test {
namespace {

using hlo::Dims;
using ir::Form;
using ir::Geometry;

struct View {
  Dims buffer;
  Dims sizes;
  Dims strides;
  int64_t offset = 0;
};

int64_t Product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Positions in the flat buffer, in the view's row-major order.
std::vector<int64_t> Positions(const View& view) {
  std::vector<int64_t> positions = {view.offset};
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    std::vector<int64_t> next;
    for (int64_t base : positions) {
      for (int64_t i = 0; i < view.sizes[d]; ++i) next.push_back(base + i * view.strides[d]);
    }
    positions = std::move(next);
  }
  return positions;
}

Numbers Counting(int64_t n, double start = 0) {
  Numbers numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), start);
  return numbers;
}

Geometry GeometryOf(const View& view) {
  Geometry geometry;
  geometry.sizes = view.sizes;
  geometry.strides = view.strides;
  geometry.form = lower::PlanForm(view.buffer, view.sizes, view.strides, view.offset);
  geometry.zero_offset = view.offset == 0;
  return geometry;
}

class Views : public HloExecution {
 protected:
  Numbers Read(const View& view) const {
    return Run({BufferOf(view), OffsetOf(view)}, [&](Builder&, const auto& p) {
      return lower::ReadView(p[0], GeometryOf(view), p[1]);
    });
  }
  Numbers Write(const View& view, const Numbers& update) const {
    const Argument value{{DType::kF32, view.sizes}, update};
    return Run({BufferOf(view), OffsetOf(view), value}, [&](Builder&, const auto& p) {
      return lower::WriteView(p[0], p[0].type(), GeometryOf(view), p[1], p[2]);
    });
  }
  void Check(const View& view) const {
    const auto positions = Positions(view);
    const Numbers buffer = Counting(Product(view.buffer));
    Numbers expected;
    for (int64_t at : positions) expected.push_back(buffer[static_cast<size_t>(at)]);
    EXPECT_EQ(Read(view), expected) << Describe(view);
    if (std::set(positions.begin(), positions.end()).size() != positions.size()) return;
    Numbers written = buffer;
    const Numbers update = Counting(static_cast<int64_t>(positions.size()), 1000);
    for (size_t i = 0; i < positions.size(); ++i) {
      written[static_cast<size_t>(positions[i])] = update[i];
    }
    EXPECT_EQ(Write(view, update), written) << Describe(view);
  }

 private:
  static Argument BufferOf(const View& view) {
    return {{DType::kF32, view.buffer}, Counting(Product(view.buffer))};
  }
  static Argument OffsetOf(const View& view) {
    return {{DType::kI64, {}}, {static_cast<double>(view.offset)}};
  }
  static std::string Describe(const View& view) {
    return StrCat("buffer ", hlo::ToString(view.buffer), " sizes ", hlo::ToString(view.sizes),
                  " strides ", hlo::ToString(view.strides), " offset ", view.offset);
  }
};
TPJRT_FOR_EVERY_PLUGIN(Views);

TEST(PlanForm, NamesTheForm) {
  const Dims buffer = {4, 6};
  const auto plan = [&](const Dims& sizes, const Dims& strides, int64_t offset) {
    return lower::PlanForm(buffer, sizes, strides, offset);
  };
  EXPECT_EQ(plan({4, 6}, {6, 1}, 0), Form::kWhole);
  EXPECT_EQ(plan({24}, {1}, 0), Form::kWhole);
  EXPECT_EQ(plan({6, 4}, {1, 6}, 0), Form::kPhysical);        // transposed
  EXPECT_EQ(plan({2, 6}, {6, 1}, 12), Form::kPhysical);       // rows
  EXPECT_EQ(plan({4, 3}, {6, 2}, 1), Form::kPhysical);        // every second column
  EXPECT_EQ(plan({4, 6, 5}, {6, 1, 0}, 0), Form::kPhysical);  // expanded
  EXPECT_EQ(plan({5, 4}, {4, 1}, 3), Form::kGather);          // crosses its own rows
  EXPECT_EQ(plan({5, 4}, {4, 1}, 4), Form::kFactored);        // ignores the buffer's dims
  EXPECT_EQ(plan({4}, {7}, 0), Form::kFactored);              // the diagonal: a factoring by 7
  EXPECT_EQ(plan({10, 3}, {2, 1}, 0), Form::kGather);         // overlapping windows
  EXPECT_EQ(plan({0, 6}, {6, 1}, 0), Form::kWhole);
}

TEST_P(Views, EveryFormReadsAndWrites) {
  Check({{4, 6}, {4, 6}, {6, 1}, 0});
  Check({{4, 6}, {6, 4}, {1, 6}, 0});
  Check({{4, 6}, {2, 6}, {6, 1}, 12});
  Check({{4, 6}, {4, 3}, {6, 2}, 1});
  Check({{4, 6}, {3, 2, 2}, {1, 6, 12}, 3});
  Check({{4, 6}, {4, 6, 5}, {6, 1, 0}, 0});
  Check({{4, 6}, {1, 3, 1}, {99, 1, 7}, 20});
  Check({{5, 5}, {5}, {6}, 0});
  Check({{5, 5}, {4}, {6}, 1});
  Check({{4, 6}, {5, 4}, {4, 1}, 3});
  Check({{10}, {4, 3}, {2, 1}, 1});
  Check({{}, {}, {}, 0});
  Check({{7}, {}, {}, 5});
}

TEST_P(Views, RandomSlicesStepsAndTransposesAgreeWithTheHost) {
  std::mt19937 random(20261130);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (int round = 0; round < 40; ++round) {
    View view;
    for (int64_t d = 1 + below(3); d > 0; --d) view.buffer.push_back(1 + below(6));
    view.sizes = view.buffer;
    view.strides.assign(view.buffer.size(), 1);
    for (size_t d = view.buffer.size() - 1; d-- > 0;) {
      view.strides[d] = view.strides[d + 1] * view.buffer[d + 1];
    }
    for (size_t d = 0; d < view.sizes.size(); ++d) {
      const int64_t start = below(view.sizes[d]), step = 1 + below(3);
      view.offset += start * view.strides[d];
      view.sizes[d] = (view.sizes[d] - start + step - 1) / step;
      view.strides[d] *= step;
    }
    for (size_t d = view.sizes.size(); d-- > 1;) {
      const auto other = static_cast<size_t>(below(static_cast<int64_t>(d) + 1));
      std::swap(view.sizes[d], view.sizes[other]);
      std::swap(view.strides[d], view.strides[other]);
    }
    Check(view);
  }
}

TEST_P(Views, DtypeViewsKeepTheBytes) {
  const Argument floats{{DType::kF32, {2}}, {1.0, -2.0}};
  const auto as = [&](DType dtype) {
    return Run({floats}, [&](Builder&, const auto& p) { return lower::Reinterpret(p[0], dtype); });
  };
  EXPECT_EQ(as(DType::kI32), (Numbers{0x3F800000, -1073741824.0}));
  EXPECT_EQ(as(DType::kU8), (Numbers{0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0}));
  EXPECT_EQ(as(DType::kC64), (Numbers{1.0, -2.0}));
  const Argument bytes{{DType::kU8, {9}}, {0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0, 7}};
  EXPECT_EQ(
      Run({bytes}, [](Builder&, const auto& p) { return lower::Reinterpret(p[0], DType::kF32); }),
      (Numbers{1.0, -2.0}));
  const Argument bools{{DType::kBool, {4}}, {1, 0, 0, 1}};
  EXPECT_EQ(
      Run({bools}, [](Builder&, const auto& p) { return lower::Reinterpret(p[0], DType::kI32); }),
      (Numbers{0x01000001}));
}

}  // namespace
}  // namespace tpjrt::test
