// The cells of nn.LSTM and nn.GRU, composed of ops that have rows. PyTorch takes the fused cells
// for this device (they have no CPU kernel, so no fallback) and writes the loops over time itself.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "aten/register.h"

namespace tpjrt::aten {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

bool Given(const OptionalTensor& tensor) { return tensor.has_value() && tensor->defined(); }

Tensor WithBias(const Tensor& gates, const OptionalTensor& bias) {
  return Given(bias) ? at::add(gates, *bias) : gates;
}

void CheckSizes(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hidden,
                int64_t num_gates) {
  TORCH_CHECK(input_gates.dim() == 2 && hidden.dim() == 2 &&
                  input_gates.sizes() == hidden_gates.sizes() &&
                  input_gates.size(0) == hidden.size(0) &&
                  input_gates.size(1) == num_gates * hidden.size(1),
              "a recurrent cell with ", num_gates, " gates and a state of ", hidden.sizes(),
              " cannot take gates of ", input_gates.sizes(), " and ", hidden_gates.sizes());
}

Tensor SigmoidGradient(const Tensor& grad, const Tensor& y) {
  return at::sigmoid_backward(grad, y);
}
Tensor TanhGradient(const Tensor& grad, const Tensor& y) { return at::tanh_backward(grad, y); }

// Returns hidden state, cell state and the activated gates [input, forget, cell, output].
std::tuple<Tensor, Tensor, Tensor> LstmCell(const Tensor& input_gates, const Tensor& hidden_gates,
                                            const Tensor& cx, const OptionalTensor& input_bias,
                                            const OptionalTensor& hidden_bias) {
  CheckSizes(input_gates, hidden_gates, cx, 4);
  const Tensor gates =
      at::add(WithBias(input_gates, input_bias), WithBias(hidden_gates, hidden_bias));
  const auto parts = gates.chunk(4, 1);
  const Tensor input = at::sigmoid(parts[0]), forget = at::sigmoid(parts[1]);
  const Tensor cell = at::tanh(parts[2]), output = at::sigmoid(parts[3]);
  const Tensor cy = at::add(at::mul(forget, cx), at::mul(input, cell));
  return {at::mul(output, at::tanh(cy)), cy, at::cat({input, forget, cell, output}, 1)};
}

// Gradients of the gates (before their activation), of the old cell state and of either bias.
std::tuple<Tensor, Tensor, Tensor> LstmCellBackward(const OptionalTensor& grad_hy,
                                                    const OptionalTensor& grad_cy, const Tensor& cx,
                                                    const Tensor& cy, const Tensor& workspace,
                                                    bool has_bias) {
  if (!Given(grad_hy) && !Given(grad_cy)) return {};
  const auto parts = workspace.chunk(4, 1);
  const Tensor &input = parts[0], &forget = parts[1], &cell = parts[2], &output = parts[3];
  Tensor grad_cell_state = Given(grad_cy) ? *grad_cy : at::zeros_like(cy);
  Tensor grad_output = at::zeros_like(cy);
  if (Given(grad_hy)) {
    const Tensor tanh_cy = at::tanh(cy);
    grad_cell_state = grad_cell_state + TanhGradient(*grad_hy * output, tanh_cy);
    grad_output = SigmoidGradient(*grad_hy * tanh_cy, output);
  }
  const Tensor grad_gates = at::cat({SigmoidGradient(grad_cell_state * cell, input),
                                     SigmoidGradient(grad_cell_state * cx, forget),
                                     TanhGradient(grad_cell_state * input, cell), grad_output},
                                    1);
  return {grad_gates, grad_cell_state * forget, has_bias ? grad_gates.sum(0) : Tensor()};
}

// Returns the hidden state and what the backward needs: the activated gates [reset, update, new],
// the old state, and the hidden part of the new gate.
std::tuple<Tensor, Tensor> GruCell(const Tensor& input_gates, const Tensor& hidden_gates,
                                   const Tensor& hx, const OptionalTensor& input_bias,
                                   const OptionalTensor& hidden_bias) {
  CheckSizes(input_gates, hidden_gates, hx, 3);
  const auto from_input = WithBias(input_gates, input_bias).chunk(3, 1);
  const auto from_hidden = WithBias(hidden_gates, hidden_bias).chunk(3, 1);
  const Tensor reset = at::sigmoid(at::add(from_input[0], from_hidden[0]));
  const Tensor update = at::sigmoid(at::add(from_input[1], from_hidden[1]));
  const Tensor fresh = at::tanh(at::addcmul(from_input[2], reset, from_hidden[2]));
  return {at::addcmul(fresh, update, at::sub(hx, fresh)),
          at::cat({reset, update, fresh, hx, from_hidden[2]}, 1)};
}

// Gradients of the input's gates, the hidden gates, the old state, and both biases.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> GruCellBackward(const Tensor& grad_hy,
                                                                   const Tensor& workspace,
                                                                   bool has_bias) {
  const auto parts = workspace.chunk(5, 1);
  const Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2], &hx = parts[3];
  const Tensor grad_hx = grad_hy * update;
  const Tensor grad_update = SigmoidGradient(grad_hy * (hx - fresh), update);
  const Tensor grad_fresh = TanhGradient(grad_hy - grad_hx, fresh);
  const Tensor grad_reset = SigmoidGradient(grad_fresh * parts[4], reset);
  const Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  if (!has_bias) return {grad_input, grad_hidden, grad_hx, Tensor(), Tensor()};
  return {grad_input, grad_hidden, grad_hx, grad_input.sum(0), grad_hidden.sum(0)};
}

}  // namespace

void RegisterRecurrent() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten",
                                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library->impl("_thnn_fused_lstm_cell", TORCH_FN(LstmCell));
  library->impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(LstmCellBackward));
  library->impl("_thnn_fused_gru_cell", TORCH_FN(GruCell));
  library->impl("_thnn_fused_gru_cell_backward", TORCH_FN(GruCellBackward));
}

}  // namespace tpjrt::aten
