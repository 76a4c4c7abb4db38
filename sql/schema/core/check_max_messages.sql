-- How many messages people ask to look at, or to do something with, at once.
create function check_max_messages(max_messages int, most int) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if (max_messages between 1 and most) is not true then
    raise exception using
      errcode = 'PQ004',
      message = format('expected max_messages to be an integer from 1 to %s, got: %s', most, coalesce(max_messages::text, 'NULL')),
      hint = 'Call again for more.';
  end if;
end
$$;
