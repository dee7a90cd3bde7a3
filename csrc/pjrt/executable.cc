#include "pjrt/executable.h"

#include <utility>

#include "pjrt/call.h"
#include "pjrt/client.h"
#include "pjrt/fork.h"

namespace tpjrt::pjrt {
namespace {

// The unloaded side of a program: its signature, statistics and serialized form.
class Description {
 public:
  Description(const PJRT_Api* api, PJRT_LoadedExecutable* loaded) : api_(api) {
    auto args = TPJRT_ARGS(PJRT_LoadedExecutable_GetExecutable);
    args.loaded_executable = loaded;
    TPJRT_CALL(api, PJRT_LoadedExecutable_GetExecutable, args);
    executable_ = args.executable;
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() {
    auto args = TPJRT_ARGS(PJRT_Executable_Destroy);
    args.executable = executable_;
    TPJRT_TRY_CALL(api_, PJRT_Executable_Destroy, args);
  }

  std::vector<DType> OutputTypes() const {
    auto args = TPJRT_ARGS(PJRT_Executable_OutputElementTypes);
    args.executable = executable_;
    TPJRT_CALL(api_, PJRT_Executable_OutputElementTypes, args);
    std::vector<DType> types;
    for (size_t i = 0; i < args.num_output_types; ++i) {
      types.push_back(FromPjrt(args.output_types[i]));
    }
    return types;
  }

  std::vector<std::vector<int64_t>> OutputDims() const {
    auto args = TPJRT_ARGS(PJRT_Executable_OutputDimensions);
    args.executable = executable_;
    TPJRT_CALL(api_, PJRT_Executable_OutputDimensions, args);
    std::vector<std::vector<int64_t>> dims;
    const int64_t* next = args.dims;
    for (size_t i = 0; i < args.num_outputs; ++i) {
      dims.emplace_back(next, next + args.dim_sizes[i]);
      next += args.dim_sizes[i];
    }
    return dims;
  }

  int64_t TempBytes() const {
    auto args = TPJRT_ARGS(PJRT_Executable_GetCompiledMemoryStats);
    args.executable = executable_;
    const bool known = TPJRT_TRY_CALL(api_, PJRT_Executable_GetCompiledMemoryStats, args);
    return known ? args.temp_size_in_bytes : 0;
  }

  std::string Serialize() const {
    auto args = TPJRT_ARGS(PJRT_Executable_Serialize);
    args.executable = executable_;
    TPJRT_CALL(api_, PJRT_Executable_Serialize, args);
    struct Guard {
      PJRT_Executable_Serialize_Args& args;
      ~Guard() { args.serialized_executable_deleter(args.serialized_executable); }
    } guard{args};
    return std::string(args.serialized_bytes, args.serialized_bytes_size);
  }

 private:
  const PJRT_Api* api_;
  PJRT_Executable* executable_ = nullptr;
};

}  // namespace

Executable::Executable(const Client* client, PJRT_LoadedExecutable* executable)
    : client_(client), executable_(executable) {}

// Delegates, so that the destructor runs when reading the signature throws.
Executable::Executable(const Client* client, PJRT_LoadedExecutable* executable, int num_parameters)
    : Executable(client, executable) {
  num_parameters_ = num_parameters;
  ReadSignature();
}

void Executable::ReadSignature() {
  const Description description(client_->api(), executable_);
  output_types_ = description.OutputTypes();
  output_dims_ = description.OutputDims();
  temp_bytes_ = description.TempBytes();
  Check(output_types_.size() == output_dims_.size(), "the plugin reports ", output_types_.size(),
        " output types and ", output_dims_.size(), " output shapes");
}

Executable::Executable(Executable&& other) noexcept
    : client_(other.client_),
      executable_(std::exchange(other.executable_, nullptr)),
      num_parameters_(other.num_parameters_),
      output_types_(std::move(other.output_types_)),
      output_dims_(std::move(other.output_dims_)),
      temp_bytes_(other.temp_bytes_) {}

Executable& Executable::operator=(Executable&& other) noexcept {
  if (this != &other) {
    Destroy();
    client_ = other.client_;
    executable_ = std::exchange(other.executable_, nullptr);
    num_parameters_ = other.num_parameters_;
    output_types_ = std::move(other.output_types_);
    output_dims_ = std::move(other.output_dims_);
    temp_bytes_ = other.temp_bytes_;
  }
  return *this;
}

Executable::~Executable() { Destroy(); }

void Executable::Destroy() noexcept {
  if (executable_ == nullptr || InForkedChild()) return;
  auto args = TPJRT_ARGS(PJRT_LoadedExecutable_Destroy);
  args.executable = std::exchange(executable_, nullptr);
  TPJRT_TRY_CALL(client_->api(), PJRT_LoadedExecutable_Destroy, args);
}

void Executable::CheckArguments(std::span<PJRT_Buffer* const> arguments, size_t outputs) const {
  Require(arguments.size() == static_cast<size_t>(num_parameters_), "Execute: the program takes ",
          num_parameters_, " arguments, got ", arguments.size());
  Require(outputs == output_types_.size(), "Execute: the program has ", output_types_.size(),
          " outputs, room for ", outputs, " was given");
  for (size_t i = 0; i < arguments.size(); ++i) {
    Require(arguments[i] != nullptr, "Execute: argument ", i, " is an empty buffer");
  }
}

void Executable::Execute(std::span<PJRT_Buffer* const> arguments, std::span<PJRT_Buffer*> outputs,
                         int device, std::span<const int64_t> keep) const {
  RequireNotForked("running a program");
  CheckArguments(arguments, outputs.size());
  auto options = Args<PJRT_ExecuteOptions>(PJRT_ExecuteOptions_STRUCT_SIZE);
  options.non_donatable_input_indices = keep.data();
  options.num_non_donatable_input_indices = keep.size();
  PJRT_Buffer* const* argument_list = arguments.data();
  PJRT_Buffer** output_list = outputs.data();
  auto args = TPJRT_ARGS(PJRT_LoadedExecutable_Execute);
  args.executable = executable_;
  args.options = &options;
  args.argument_lists = &argument_list;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.output_lists = &output_list;
  args.execute_device = client_->device_handle(device);
  TPJRT_CALL(client_->api(), PJRT_LoadedExecutable_Execute, args);
}

std::string Executable::Serialize() const {
  RequireNotForked("serializing a program");
  return Description(client_->api(), executable_).Serialize();
}

}  // namespace tpjrt::pjrt
