// What makes the device known to PyTorch; each is called once, in this order, when the module is
// imported. Nothing here opens a plugin.
#pragma once

namespace tpjrt::aten {

void RegisterAllocator();
void RegisterGuard();
void RegisterHooks();
void RegisterFactories();
void RegisterCopies();
void RegisterOps();
void RegisterRandomChecks();
void RegisterAttention();
void RegisterTransformer();
void RegisterRecurrent();
void RegisterAutocast();
void RegisterFallback();
void RegisterProfiler();

}  // namespace tpjrt::aten
