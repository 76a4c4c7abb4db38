#!/usr/bin/env bash
# Makes an image that behaves like the official `postgres` one, where that cannot be pulled: Debian's PostgreSQL 15, the
# libraries it needs, and busybox.   postgres-image.sh postgres:15
set -euo pipefail
image=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
server=/usr/lib/postgresql/15
mkdir -p "$root"/{bin,etc,tmp,usr/local/bin,var/lib/postgresql,var/run/postgresql}
for folder in "$server" /usr/share/postgresql/15 /usr/share/zoneinfo; do
  mkdir -p "$root$folder" && cp -aL "$folder/." "$root$folder"
done
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in sh cat chmod chown cp env id ls mkdir su sleep; do ln -s busybox "$root/bin/$applet"; done
# ldd fails for what is a script
find "$server" -type f \( -perm /111 -o -name '*.so' \) -exec sh -c 'ldd "$1" 2>/dev/null || true' - {} \; |
  grep -oE '/[^ :]+\.so[^ :]*' | sort -u |
  while read -r library; do
    if [ -e "$library" ]; then mkdir -p "$root${library%/*}" && cp -L "$library" "$root$library"; fi
  done
chmod 1777 "$root/tmp"
echo 'root:x:0:0::/:/bin/sh
postgres:x:999:999::/var/lib/postgresql:/bin/sh' > "$root/etc/passwd"
echo 'root:x:0:
postgres:x:999:' > "$root/etc/group"
echo '127.0.0.1 localhost' > "$root/etc/hosts"

# The part of the official entry point that Testcontainers relies on.
cat > "$root/usr/local/bin/entrypoint" <<'ENTRY'
#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chown postgres:postgres "$PGDATA" /var/run/postgresql
  exec su postgres -c 'exec "$0" "$@"' -- "$0" "$@"
fi
user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}
echo "$POSTGRES_PASSWORD" > /tmp/password
initdb -D "$PGDATA" -U "$user" -E UTF8 --locale=C --auth=scram-sha-256 --auth-local=trust --pwfile=/tmp/password > /dev/null
echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start > /dev/null
[ "$database" = postgres ] || psql -U "$user" -d postgres -qc "create database \"$database\""
pg_ctl -D "$PGDATA" -m fast -w stop > /dev/null
exec "$@" -c listen_addresses='*' -D "$PGDATA"
ENTRY
chmod 755 "$root/usr/local/bin/entrypoint"
tar -C "$root" -c . | docker import \
  --change "ENV PATH=$server/bin:/usr/local/bin:/bin" \
  --change 'ENV PGDATA=/var/lib/postgresql/data' \
  --change 'EXPOSE 5432' \
  --change 'ENTRYPOINT ["/usr/local/bin/entrypoint"]' \
  --change 'CMD ["postgres"]' \
  - "$image"
