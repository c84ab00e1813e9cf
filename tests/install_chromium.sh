#!/bin/sh
# Finds or installs a Chromium for the browser tests and names the command that helps when it cannot.
set -eu
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && apt-get install -y -qq chromium fonts-noto-cjk && exit 0
fi
if .venv/bin/python -m playwright install chromium; then exit 0; fi
echo "The browser tests need Chromium: run 'apt-get install chromium' as root, or set CHROMIUM to its path." >&2
exit 1
