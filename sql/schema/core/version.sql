-- The installed version of the schema.
create function version() returns text
language sql
stable
security definer
set search_path from current
return (select m.version from meta m);

-- Which build of that version it is.
create function fingerprint() returns text
language sql
stable
security definer
set search_path from current
return (select m.fingerprint from meta m);
