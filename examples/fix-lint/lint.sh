#!/bin/sh
# A tiny linter: prints FILE:LINE:TEXT for `var` and for `==`, and exits with 1 when it found any.
if grep -HnE '(^|[^[:alnum:]_])var |[^=!]==[^=]' "$@"; then exit 1; fi
