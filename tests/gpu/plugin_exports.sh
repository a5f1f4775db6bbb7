#!/bin/sh
# The plug-in's only exported symbol is its entry: whatever else it holds must not meet the host's symbols.
# usage: plugin_exports.sh libverbena-cuda.so
exported=$(nm --dynamic --defined-only --format=posix "$1" | cut -d' ' -f1) || exit 99
[ "$exported" = verbena_memory_plugin ] && exit 0
printf 'exported, beside or instead of verbena_memory_plugin:\n%s\n' "$exported" >&2
exit 1
