#pragma once

/// Marks what libverbena.so exports; everything else is built with hidden visibility.
#if defined(__GNUC__)
#define VERBENA_API [[gnu::visibility("default")]]
#else
#define VERBENA_API
#endif
