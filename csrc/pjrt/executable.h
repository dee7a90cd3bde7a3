// A compiled program, loaded on a client; portable: it runs on any device of the client.
//
// Move-only, thread-safe for Execute. Inputs are checked for number here; their types are the
// caller's contract (the plugin also checks).
#pragma once

#include <pjrt_c_api.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pjrt/buffer.h"

namespace tpjrt::pjrt {

class Executable {
 public:
  Executable(const Client* client, PJRT_LoadedExecutable* executable, int num_parameters);
  Executable(Executable&& other) noexcept;
  Executable& operator=(Executable&& other) noexcept;
  ~Executable();

  int num_parameters() const { return num_parameters_; }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  DType output_dtype(int i) const { return output_types_[i]; }
  const std::vector<int64_t>& output_dims(int i) const { return output_dims_[i]; }

  // Runs on `device`, asynchronously; outputs are written to `outputs` (num_outputs() entries).
  // Parameters compiled with an alias are donated unless their index is in `keep`.
  void Execute(std::span<PJRT_Buffer* const> arguments, std::span<PJRT_Buffer*> outputs, int device,
               std::span<const int64_t> keep = {}) const;
  // Bytes of temporaries the program needs beside arguments and outputs; 0 where unknown.
  int64_t temp_bytes() const { return temp_bytes_; }

  std::string Serialize() const;

 private:
  Executable(const Client* client, PJRT_LoadedExecutable* executable);
  void ReadSignature();
  void CheckArguments(std::span<PJRT_Buffer* const> arguments, size_t outputs) const;
  void Destroy() noexcept;
  const Client* client_;
  PJRT_LoadedExecutable* executable_;
  int num_parameters_ = 0;
  std::vector<DType> output_types_;
  std::vector<std::vector<int64_t>> output_dims_;
  int64_t temp_bytes_ = 0;
};

}  // namespace tpjrt::pjrt
