// Precompiled: what nearly every file of the glue needs.
#pragma once

#include <ATen/ATen.h>
#include <torch/library.h>
