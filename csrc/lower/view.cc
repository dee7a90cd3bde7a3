#include "lower/view.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "hlo/elementwise.h"
#include "hlo/index.h"
#include "hlo/shape.h"

namespace tpjrt::lower {
namespace {

using hlo::Dims;
using hlo::Value;
using ir::Form;
using ir::Geometry;

int64_t Product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// The flat buffer as a box of digits: digit j counts steps of factors[j] and has radix[j] values.
struct Box {
  std::vector<int64_t> factors;  // descending, last is 1
  std::vector<int64_t> radix;
  std::vector<int64_t> extents;     // how many values of each digit the view covers
  std::vector<int64_t> view_order;  // view dims (size > 1, stride > 0) by descending stride
  int64_t padded = 0;               // product of radix: the flat size rounded up to factors[0]
};

// Fills a box from the view's strides joined with `extra` ones; false where they do not nest.
bool MakeBox(int64_t total, std::span<const int64_t> sizes, std::span<const int64_t> strides,
             std::span<const int64_t> extra, Box* box) {
  box->factors.assign(extra.begin(), extra.end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1 || strides[i] == 0) continue;
    box->view_order.push_back(static_cast<int64_t>(i));
    box->factors.push_back(strides[i]);
  }
  std::stable_sort(box->view_order.begin(), box->view_order.end(),
                   [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
  for (size_t i = 1; i < box->view_order.size(); ++i) {
    if (strides[box->view_order[i]] == strides[box->view_order[i - 1]]) return false;
  }
  box->factors.push_back(1);
  std::sort(box->factors.begin(), box->factors.end(), std::greater<>());
  box->factors.erase(std::unique(box->factors.begin(), box->factors.end()), box->factors.end());

  const int64_t top = box->factors.front();
  box->radix.push_back((total + top - 1) / top);
  for (size_t j = 1; j < box->factors.size(); ++j) {
    if (box->factors[j - 1] % box->factors[j] != 0) return false;
    box->radix.push_back(box->factors[j - 1] / box->factors[j]);
  }
  box->padded = box->radix.front() * top;
  box->extents.assign(box->factors.size(), 1);
  for (int64_t dim : box->view_order) {
    const auto at = std::find(box->factors.begin(), box->factors.end(), strides[dim]);
    box->extents[static_cast<size_t>(at - box->factors.begin())] = sizes[dim];
  }
  return true;
}

// Strides of the physical dims that matter (size > 1).
std::vector<int64_t> PhysicalStrides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides;
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] > 1) strides.push_back(stride);
    stride *= dims[i];
  }
  return strides;
}

bool Fits(const Box& box, int64_t offset) {
  for (size_t j = 0; j < box.factors.size(); ++j) {
    const int64_t quotient = offset / box.factors[j];
    const int64_t digit = j == 0 ? quotient : quotient % box.radix[j];
    if (digit + box.extents[j] > box.radix[j]) return false;
  }
  return true;
}

bool IsWhole(int64_t total, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != stride) return false;
    stride *= sizes[i];
  }
  return stride == total;
}

Box BoxFor(const Dims& buffer_dims, const Geometry& geometry) {
  Box box;
  const auto extra =
      geometry.form == Form::kPhysical ? PhysicalStrides(buffer_dims) : std::vector<int64_t>();
  const bool nests = MakeBox(Product(buffer_dims), geometry.sizes, geometry.strides, extra, &box);
  Check(nests, "a view of ", hlo::ToString(buffer_dims), " was planned in a form it does not have");
  return box;
}

std::vector<Value> Digits(const Box& box, Value offset) {
  std::vector<Value> digits;
  for (size_t j = 0; j < box.factors.size(); ++j) {
    Value digit = offset / static_cast<double>(box.factors[j]);
    if (j > 0) digit = hlo::Rem(digit, hlo::ConstantLike(digit, static_cast<double>(box.radix[j])));
    digits.push_back(digit);
  }
  return digits;
}

Value ToBox(Value buffer, const Box& box) {
  if (buffer.num_elements() == box.padded) return hlo::Reshape(buffer, box.radix);
  Value flat = hlo::Flatten(buffer);
  const Value zero = hlo::Constant(buffer.builder(), buffer.dtype(), 0);
  flat = hlo::Pad(flat, zero, {0}, {box.padded - flat.num_elements()}, {0});
  return hlo::Reshape(flat, box.radix);
}

Value FromBox(Value boxed, const Box& box, const Dims& buffer_dims) {
  const int64_t total = Product(buffer_dims);
  if (total == box.padded) return hlo::Reshape(boxed, buffer_dims);
  return hlo::Reshape(hlo::SliceDim(hlo::Flatten(boxed), 0, 0, total), buffer_dims);
}

Dims SortedSizes(const Box& box, const Geometry& geometry) {
  Dims sizes;
  for (int64_t dim : box.view_order) sizes.push_back(geometry.sizes[static_cast<size_t>(dim)]);
  return sizes;
}

// view_order as positions among the kept dims: kept dim i of the view is sorted dim result[i].
Dims SortedPositionOfKept(const Box& box) {
  Dims kept = box.view_order;
  std::sort(kept.begin(), kept.end());
  Dims positions;
  for (int64_t dim : kept) {
    positions.push_back(std::find(box.view_order.begin(), box.view_order.end(), dim) -
                        box.view_order.begin());
  }
  return positions;
}

Value ReadBox(Value buffer, const Geometry& geometry, Value offset) {
  const Box box = BoxFor(buffer.dims(), geometry);
  Value x = ToBox(buffer, box);
  if (geometry.zero_offset) {
    x = hlo::Slice(x, Dims(box.radix.size(), 0), box.extents, Dims(box.radix.size(), 1));
  } else {
    x = hlo::DynamicSlice(x, Digits(box, offset), box.extents);
  }
  x = hlo::Transpose(hlo::Reshape(x, SortedSizes(box, geometry)), SortedPositionOfKept(box));
  Dims kept = box.view_order;
  std::sort(kept.begin(), kept.end());
  return hlo::BroadcastInDim(x, geometry.sizes, kept);
}

Value WriteBox(Value buffer, const Geometry& geometry, Value offset, Value update) {
  const Box box = BoxFor(buffer.dims(), geometry);
  Dims kept = box.view_order;
  std::sort(kept.begin(), kept.end());
  Dims kept_sizes;
  for (int64_t dim : kept) kept_sizes.push_back(geometry.sizes[static_cast<size_t>(dim)]);
  Dims order;  // sorted dim j is kept dim order[j]
  for (int64_t dim : box.view_order) {
    order.push_back(std::lower_bound(kept.begin(), kept.end(), dim) - kept.begin());
  }
  Value piece = hlo::Transpose(hlo::Reshape(update, kept_sizes), order);
  piece = hlo::Reshape(piece, box.extents);
  std::vector<Value> starts;
  if (geometry.zero_offset) {
    const Value zero = hlo::ConstantInt(buffer.builder(), DType::kI32, 0);
    starts.assign(box.radix.size(), zero);
  } else {
    starts = Digits(box, offset);
  }
  return FromBox(hlo::DynamicUpdateSlice(ToBox(buffer, box), piece, starts), box, buffer.dims());
}

Value Positions(hlo::Builder& b, const Geometry& geometry, Value offset) {
  Value positions = geometry.zero_offset ? hlo::ConstantInt(b, DType::kI64, 0, geometry.sizes)
                                         : hlo::BroadcastTo(offset, geometry.sizes);
  for (size_t i = 0; i < geometry.sizes.size(); ++i) {
    if (geometry.sizes[i] == 1 || geometry.strides[i] == 0) continue;
    const Value index = hlo::Iota(b, DType::kI64, geometry.sizes, static_cast<int64_t>(i));
    positions = positions + index * static_cast<double>(geometry.strides[i]);
  }
  return positions;
}

}  // namespace

Form PlanForm(std::span<const int64_t> buffer_dims, std::span<const int64_t> sizes,
              std::span<const int64_t> strides, int64_t offset) {
  const int64_t total = Product(buffer_dims);
  if (Product(sizes) == 0) return Form::kWhole;
  if (offset == 0 && IsWhole(total, sizes, strides)) return Form::kWhole;
  Box box;
  if (MakeBox(total, sizes, strides, PhysicalStrides(buffer_dims), &box) && Fits(box, offset)) {
    return Form::kPhysical;
  }
  box = Box();
  if (MakeBox(total, sizes, strides, {}, &box) && Fits(box, offset)) return Form::kFactored;
  return Form::kGather;
}

Value ReadView(Value buffer, const Geometry& geometry, Value offset) {
  hlo::Builder& b = buffer.builder();
  if (Product(geometry.sizes) == 0) return hlo::Constant(b, buffer.dtype(), 0, geometry.sizes);
  switch (geometry.form) {
    case Form::kWhole:
      return hlo::Reshape(buffer, geometry.sizes);
    case Form::kPhysical:
    case Form::kFactored:
      return ReadBox(buffer, geometry, offset);
    case Form::kGather:
      return hlo::Take(hlo::Flatten(buffer), Positions(b, geometry, offset));
  }
  Fail(ErrorCode::kInternal, "unknown view form");
}

Value WriteView(Value buffer, const hlo::Type& buffer_type, const Geometry& geometry, Value offset,
                Value update) {
  Check(update.dims() == geometry.sizes && update.dtype() == buffer_type.dtype, "a ",
        hlo::ToString(update.type()), " was written to a view of sizes ",
        hlo::ToString(geometry.sizes), " of ", hlo::ToString(buffer_type));
  if (Product(geometry.sizes) == 0) return buffer;
  switch (geometry.form) {
    case Form::kWhole:
      return hlo::Reshape(update, buffer_type.dims);
    case Form::kPhysical:
    case Form::kFactored:
      return WriteBox(buffer, geometry, offset, update);
    case Form::kGather: {
      const Value positions = hlo::Flatten(Positions(buffer.builder(), geometry, offset));
      const Value flat = hlo::Put(hlo::Flatten(buffer), positions, hlo::Flatten(update),
                                  hlo::ScatterKind::kSet, /*unique_indices=*/true);
      return hlo::Reshape(flat, buffer_type.dims);
    }
  }
  Fail(ErrorCode::kInternal, "unknown view form");
}

}  // namespace tpjrt::lower
