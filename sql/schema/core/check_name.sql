-- Queue and consumer names: any Unicode, 1 to 57 bytes (the wake-up channel is "pgque_" and the queue's name, and
-- Postgres cuts channel names at 63 bytes).
create function check_name(what text, name text) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if name is null or octet_length(name) not between 1 and 57 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected the %s name to have 1 to 57 bytes, got: %s', what,
        coalesce(quote_literal(left(name, 80)) || ' (' || octet_length(name) || ' bytes)', 'NULL')),
      hint = 'Choose a shorter name, it is shown everywhere.';
  end if;
end
$$;
