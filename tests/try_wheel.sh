#!/bin/sh
# Install a wheel into a fresh environment and wait until `qafd demo` answers: try_wheel.sh PYTHON WHEEL
set -eu
folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
server=
"$1" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q --disable-pip-version-check -c constraints.txt "$2"
wheel_python=$folder/venv/bin/python
port=$("$wheel_python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cd "$folder"
env -u PYTHONPATH QAFD_HOME="$folder/home" "$folder/venv/bin/qafd" demo --port "$port" >"$folder/log" 2>&1 &
server=$!
for _ in $(seq 60); do
    if "$wheel_python" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/_stcore/health', timeout=1)" \
            2>/dev/null; then
        echo "qafd demo starts from $(basename "$2")"
        exit 0
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 1
done
cat "$folder/log"
exit 1
