#!/usr/bin/env bash
# Makes an image that serves as the official `node` one does, where that cannot be pulled: the Node that runs the tests, npm, the libraries
# they need, busybox, and the user `node`.   node-image.sh node:24-slim
set -euo pipefail
image=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
node=$(node -p process.execPath)
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
mkdir -p "$root"/{bin,etc,tmp,root,home/node,usr/bin,usr/local/bin,usr/local/lib/node_modules}
cp "$node" "$root/usr/local/bin/node"
cp -a "$npm" "$root/usr/local/lib/node_modules/npm"
for command in npm npx; do ln -s "../lib/node_modules/npm/bin/$command-cli.js" "$root/usr/local/bin/$command"; done
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in sh cat chmod chown cp env id ls mkdir rm sleep; do ln -s busybox "$root/bin/$applet"; done
ln -s /bin/busybox "$root/usr/bin/env"
ldd "$node" | grep -oE '/[^ :]+\.so[^ :]*' |
  while read -r library; do
    mkdir -p "$root${library%/*}" && cp -L "$library" "$root$library"
    # what resolves names lies beside libc, and is loaded when it is needed
    case $library in */libc.so.6) cp -L "${library%/*}"/libnss_{dns,files}.so.2 "${library%/*}"/libresolv.so.2 "$root${library%/*}" ;; esac
  done
# a registry may be behind an authority that Node does not know by itself
authorities=${NODE_EXTRA_CA_CERTS:-}
if [ -n "$authorities" ]; then cp -L "$authorities" "$root/etc/authorities.pem"; fi
chmod 1777 "$root/tmp"
chown 1000:1000 "$root/home/node"
echo 'root:x:0:0::/root:/bin/sh
node:x:1000:1000::/home/node:/bin/sh' > "$root/etc/passwd"
echo 'root:x:0:
node:x:1000:' > "$root/etc/group"
tar -C "$root" -c . | docker import \
  --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
  --change 'ENV NODE_EXTRA_CA_CERTS='"${authorities:+/etc/authorities.pem}" \
  --change 'CMD ["node"]' \
  - "$image"
