#include "lower/interpolation.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tpjrt::lower {
namespace {

// Inputs per output.
template <typename T>
T StepOf(const Axis& a) {
  if (a.align_corners) {
    return a.outputs > 1 ? static_cast<T>(a.inputs - 1) / static_cast<T>(a.outputs - 1) : T{0};
  }
  if (a.scale && *a.scale > 0) return static_cast<T>(1.0 / *a.scale);
  return static_cast<T>(a.inputs) / static_cast<T>(a.outputs);
}

template <typename T>
T CenterOf(const Axis& a, int64_t o) {
  const T step = StepOf<T>(a);
  if (a.align_corners) return step * static_cast<T>(o);
  return step * (static_cast<T>(o) + T{0.5}) - T{0.5};
}

template <typename T>
std::vector<LinearMap::Term> NearestTerms(const Axis& a, int64_t o, bool exact) {
  const T position = exact ? CenterOf<T>(a, o) + T{0.5} : StepOf<T>(a) * static_cast<T>(o);
  return {{std::min(static_cast<int64_t>(std::floor(position)), a.inputs - 1), 1.0}};
}

template <typename T>
std::vector<LinearMap::Term> LinearTerms(const Axis& a, int64_t o) {
  if (a.inputs == a.outputs) return {{o, 1.0}};
  const T position = std::max(CenterOf<T>(a, o), T{0});
  const int64_t first = std::min(static_cast<int64_t>(position), a.inputs - 1);
  const int64_t second = std::min(first + 1, a.inputs - 1);
  const T weight = std::clamp(position - static_cast<T>(first), T{0}, T{1});
  return {{first, T{1} - weight}, {second, weight}};
}

// Keys' cubic convolution with A = -0.75.
template <typename T>
std::array<T, 4> CubicWeights(T t) {
  constexpr T kA = T{-0.75};
  const auto near = [](T x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

template <typename T>
std::vector<LinearMap::Term> CubicTerms(const Axis& a, int64_t o) {
  const T position = CenterOf<T>(a, o);
  const int64_t base = std::min(static_cast<int64_t>(std::floor(position)), a.inputs - 1);
  const T t = std::clamp(position - static_cast<T>(base), T{0}, T{1});
  const std::array<T, 4> weights = CubicWeights<T>(t);
  std::vector<LinearMap::Term> terms;
  for (int64_t j = 0; j < 4; ++j) {
    terms.push_back(
        {std::clamp<int64_t>(base - 1 + j, 0, a.inputs - 1), weights[static_cast<size_t>(j)]});
  }
  return terms;
}

template <typename T>
T AntialiasWeight(Kernel kernel, T x) {
  x = std::abs(x);
  if (kernel == Kernel::kLinearAntialias) return x < 1 ? 1 - x : T{0};
  constexpr T kA = T{-0.5};
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : T{0};
}

template <typename T>
std::vector<LinearMap::Term> AntialiasTerms(Kernel kernel, const Axis& a, int64_t o) {
  const T step = StepOf<T>(a);
  const T radius = kernel == Kernel::kLinearAntialias ? T{1} : T{2};
  const T stretch = std::max(step, T{1});
  const T support = radius * stretch;
  const T center = step * (static_cast<T>(o) + T{0.5});
  const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + T{0.5}), 0);
  const int64_t end = std::min(static_cast<int64_t>(center + support + T{0.5}), a.inputs);
  std::vector<T> weights;
  T total = 0;
  for (int64_t i = first; i < end; ++i) {
    weights.push_back(AntialiasWeight<T>(kernel, (static_cast<T>(i) - center + T{0.5}) / stretch));
    total += weights.back();
  }
  std::vector<LinearMap::Term> terms;
  for (int64_t i = first; i < end; ++i) {
    const T weight = weights[static_cast<size_t>(i - first)];
    terms.push_back({i, total != 0 ? weight / total : weight});
  }
  return terms;
}

template <typename T>
std::vector<LinearMap::Term> TermsOf(Kernel kernel, const Axis& a, int64_t o) {
  switch (kernel) {
    case Kernel::kLinear:
      return LinearTerms<T>(a, o);
    case Kernel::kCubic:
      return CubicTerms<T>(a, o);
    case Kernel::kLinearAntialias:
    case Kernel::kCubicAntialias:
      return AntialiasTerms<T>(kernel, a, o);
    default:
      return NearestTerms<T>(a, o, kernel == Kernel::kNearestExact);
  }
}

}  // namespace

LinearMap InterpolationMap(Kernel kernel, const Axis& axis, DType dtype) {
  LinearMap map;
  map.inputs = axis.inputs;
  for (int64_t o = 0; o < axis.outputs; ++o) {
    map.rows.push_back(dtype == DType::kF64 ? TermsOf<double>(kernel, axis, o)
                                            : TermsOf<float>(kernel, axis, o));
  }
  return map;
}

}  // namespace tpjrt::lower
