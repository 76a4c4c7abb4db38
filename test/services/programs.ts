/** Where Debian has PostgreSQL 15's programs: the server that tests start for itself comes without pg_dump, pg_restore and pg_basebackup. */
export const programs = "/usr/lib/postgresql/15/bin";
