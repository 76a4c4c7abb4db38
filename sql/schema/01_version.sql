-- The installed version of the schema.
create function version() returns text
language sql
stable
security definer
set search_path from current
return (select m.version from meta m);
