-- A batch id says where its batch lies, so that ack goes straight to one table, and cannot be guessed from another:
--   27 bits from the queue's sequence · 14 bits queue · 10 bits segment · 12 random bits
-- The random bits are for a crash with synchronous_commit = off or a failover to an asynchronous standby: a sequence may
-- then issue a number again, and a late ack must not settle somebody else's batch. The sequence goes round after 134
-- million batches; by then the segment has been truncated many times over.
create function make_batch_id(seq bigint, queue_id int, segment int) returns bigint
language sql
volatile
return (seq << 36) | (queue_id::bigint << 22) | (segment::bigint << 12) | floor(random() * 4096)::bigint;

create function batch_queue(batch_id bigint) returns int
language sql
immutable
return ((batch_id >> 22) & 16383)::int;

create function batch_segment(batch_id bigint) returns int
language sql
immutable
return ((batch_id >> 12) & 1023)::int;
