-- The registry: consumers. A consumer is a named independent reader of a queue; every consumer sees every message, and
-- the workers of one consumer share its messages. Where it has got to is not here but in its newest batch row.
create table consumer (
  id int generated always as identity primary key,
  queue_id int not null references queue on delete cascade,
  name text not null check (octet_length(name) between 1 and 57),
  -- shared: any number of workers, each with batches of its own. exclusive: one batch at a time, handed out again until it is finished.
  -- ordered: one batch at a time of each lane
  mode text not null check (mode in ('exclusive', 'shared', 'ordered')),
  -- what a failed message does to the lane of an ordered consumer: block it until it is tried again, or be skipped and come later
  on_failure text not null default 'block' check (on_failure in ('block', 'skip')),
  -- limits, see receive/limits.sql; null: none
  max_in_flight int check (max_in_flight > 0),
  max_in_flight_per_key int check (max_in_flight_per_key between 1 and 100),
  rate_limit int check (rate_limit > 0),
  rate_period interval not null default '1 s',
  paused boolean not null default false,
  created_at timestamptz not null default now(),
  unique (queue_id, name)
);

comment on table consumer is 'The consumers of each queue.';

-- PgQue's subconsumers: names of workers that share a consumer. See compat/subconsumer.sql.
create table subconsumer (
  consumer_id int not null references consumer on delete cascade,
  name text not null,
  primary key (consumer_id, name)
);

comment on table subconsumer is 'The subconsumers of PgQue''s clients: workers that share a consumer.';

-- Consumers that a queue's max_lag has dropped, for whoever misses them; until they subscribe again.
create table dropped_consumer (
  queue_id int not null references queue on delete cascade,
  name text not null,
  dropped_at timestamptz not null default now(),
  -- the oldest message that it had not received was sent then
  oldest_at timestamptz not null,
  primary key (queue_id, name)
);

comment on table dropped_consumer is 'Consumers that were dropped because they lagged behind for longer than max_lag.';
