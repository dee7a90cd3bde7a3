// Makes torch.distributed's process groups serve device tensors.
#pragma once

#include <string>

namespace tpjrt::aten {

// Has every collective look whether its group needs a StagedBackend. A group made for "gloo" takes
// device tensors as it takes CUDA's, and a group made for the device alone takes host tensors.
void RegisterProcessGroups();

// Gives the device's type a StagedBackend called `name` over the host's backend, in the group that
// is known to c10d as `group_name`. Throws c10::Error when the group has no host backend.
void StageProcessGroup(const std::string& group_name, const std::string& name);

// Without it DistributedDataParallel warns and keeps no times.
void RegisterDdpTimer();

}  // namespace tpjrt::aten
