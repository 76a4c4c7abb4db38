-- Pgque: an append-only queue inside Postgres.
--
-- Messages, cursors, leases and outcomes are written by INSERT and given back by TRUNCATE. Nothing that runs per
-- message, per batch, per poll, per heartbeat or per tick does an UPDATE or a DELETE, so there is no dead tuple to
-- vacuum and it does not matter who holds the xmin horizon.
--
-- No name in these files is qualified: the installer sets search_path to the schema it installs into, every function
-- pins the search_path it was created under (SET search_path FROM CURRENT), and so any schema name works.

-- One row: what is installed here.
create table meta (
  singleton boolean primary key default true check (singleton),
  version text not null,
  -- which build of the version: a digest of the statements that made it
  fingerprint text not null,
  -- the last migration that the tables of a new queue have; up to which one the tables of no queue have been prepared for the next version
  migration int not null,
  prepared int not null,
  -- the functions and views of this version, so that the next one drops those that it has not
  routines text[] not null default '{}',
  installed_at timestamptz not null default now()
);

comment on table meta is 'What is installed in this schema: one row.';
