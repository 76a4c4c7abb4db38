-- The registry: queues. Changed only by people (create, configure, drop), so its UPDATEs and DELETEs do not matter.
create table queue (
  -- part of every batch id, which has 14 bits for it: see queue_number
  id int primary key check (id between 1 and 16383),
  -- never given out again: what waits elsewhere for a queue knows it by this
  uid bigint not null unique generated always as identity,
  name text not null unique check (octet_length(name) between 1 and 57),
  -- a message is delivered at most max_retries + 1 times, then becomes a dead letter
  max_retries int not null default 5 check (max_retries between 0 and 32000),
  -- a message that has ended its process this often becomes a dead letter: see settle/lost.sql
  max_crashes int not null default 3 check (max_crashes between 1 and 1000),
  -- a segment is full at this size (its TOAST included) or this long after its first insert …
  rotation_bytes bigint not null default 64 * 1024 * 1024 check (rotation_bytes >= 8192),
  rotation_period interval not null default '10 min' check (rotation_period > '0'),
  -- … but not within this long of the last rotation: each one updates about a dozen rows of pg_class
  rotation_min_interval interval not null default '30 s' check (rotation_min_interval >= '0'),
  -- how long what every consumer is done with is kept, for consumers that come later
  retention interval not null default '0' check (retention between '0' and '10 years'),
  -- a consumer that has not received what was sent so long ago is warned of, or dropped; null: never
  max_lag interval check (max_lag > '0'),
  max_lag_action text not null default 'warn' check (max_lag_action in ('warn', 'drop')),
  payload_bytes_max int not null default 1000000000 check (payload_bytes_max between 1 and 1000000000),
  -- whether senders wake idle workers by NOTIFY, which a transaction that is to be prepared must not do
  notify boolean not null default true,
  -- sub-logs with cursors of their own. priority: a message's lane is its priority, and higher ones are received first. key: messages of
  -- one key share a lane, which an ordered consumer receives one batch at a time. Null: one lane
  lane_by text check (lane_by in ('priority', 'key')),
  lanes int not null default 1 check (lanes between 1 and 1024),
  -- every so many batches the lowest priority comes first, so that it is not starved; null: never
  low_priority_every int check (low_priority_every > 1),
  -- messages may be sent with an end of their life, after which they are not delivered
  allow_expiry boolean not null default false,
  -- messages may be cancelled: see cancel/cancellations.sql
  allow_cancel boolean not null default false,
  -- receives return nothing
  paused boolean not null default false,
  -- the last migration that its tables have had
  migration int not null,
  created_at timestamptz not null default now()
);

comment on table queue is 'The queues: name and settings.';

-- The number that was given out last. The number of a dropped queue comes again only after all others: a call that waited while its queue was
-- dropped finds no table of that number, where it would otherwise receive from the queue that was created next. A batch id that somebody
-- still holds when all 16383 have been given out names no batch of the new queue either, unless the count and the random bits agree as well.
create sequence queue_number maxvalue 16383 cycle;

-- A number for a new queue, the next that is not in use. The caller holds the lock "registry".
create function next_queue_number() returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  number int;
begin
  if (select count(*) from queue q) >= 16383 then
    raise exception using errcode = 'PQ004', message = 'expected at most 16383 queues in one schema', hint = 'Drop one, or install another schema.';
  end if;
  loop
    number := nextval('queue_number');
    exit when not exists (select from queue q where q.id = number);
  end loop;
  return number;
end
$$;
