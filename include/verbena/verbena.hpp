/// @file
/// All of verbena's public interface.
#pragma once

#include <verbena/admission.hpp>
#include <verbena/device.hpp>
#include <verbena/endpoint.hpp>
#include <verbena/error.hpp>
#include <verbena/float16.hpp>
#include <verbena/float8.hpp>
#include <verbena/gpu_kernels.hpp>
#include <verbena/group.hpp>
#include <verbena/memory.hpp>
#include <verbena/operation.hpp>
#include <verbena/order_check.hpp>
#include <verbena/ordering.hpp>
#include <verbena/remote_region.hpp>
#include <verbena/runtime.hpp>
#include <verbena/settings.hpp>
#include <verbena/version.hpp>
