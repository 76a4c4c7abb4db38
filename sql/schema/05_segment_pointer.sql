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
