-- Which segment of a queue takes inserts is the value of a sequence: it can be read without touching a heap row that
-- gets updated, and moved without leaving a dead one. The value also says when the pointer was moved:
--   milliseconds since 1970 * 1024 + number of the segment
-- A reader that sees an old value inserts into an old segment, and that is fine: receivers read the whole ring, and a
-- truncation checks again.
create function pointer_segment(pointer bigint) returns int
language sql
immutable
parallel safe
return (pointer & 1023)::int;

create function pointer_moved_at(pointer bigint) returns timestamptz
language sql
immutable
parallel safe
return to_timestamp((pointer >> 10) / 1000.0);

create function pointer_to(segment int) returns bigint
language sql
volatile
return ((extract(epoch from clock_timestamp()) * 1000)::bigint << 10) | segment;

-- How long ago a pointer was moved. One that was moved in the future is overdue: the clock has stepped back since, and what waits for the
-- pointer's age would stand still until the clock has come there again.
create function pointer_age(pointer bigint) returns interval
language plpgsql
volatile
set search_path from current
as $$
begin
  return case
    when pointer_moved_at(pointer) <= clock_timestamp() + interval '1 s' then clock_timestamp() - pointer_moved_at(pointer)
    else interval '100 years'
  end;
end
$$;
