-- Generated from schema/ by scripts/generate.mjs. Until 1.0 there is one migration, and it is rewritten.

-- schema/00_schema.sql

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
  installed_at timestamptz not null default now()
);

comment on table meta is 'What is installed in this schema: one row.';

-- schema/01_version.sql

-- The installed version of the schema.
create function version() returns text
language sql
stable
security definer
set search_path from current
return (select m.version from meta m);

-- schema/02_lock_key.sql

-- Every advisory lock of the product is one 64-bit hash of (schema, purpose, ids), so that two schemas in one database
-- and two purposes in one schema do not meet. Generated functions compute lock_seed once and only the outer hash per call.
create function lock_seed(purpose text, queue_id int) returns bigint
language sql
stable
set search_path from current
return hashtextextended(current_schema() || '/' || purpose || '/' || queue_id, 0);

create function lock_key(purpose text, queue_id int, consumer_id int default 0, lane int default 0) returns bigint
language sql
stable
set search_path from current
return hashint8extended((consumer_id::bigint << 16) | lane, lock_seed(purpose, queue_id));

-- schema/03_snapshot_now.sql

-- The only way to take a snapshot that is stored.
--
-- pg_current_snapshot() leaves the caller's own transaction out of its list of those in progress. What the same
-- transaction writes later would then count as visible in the snapshot, that is as already received: after
-- "begin; subscribe; send; commit" the message was lost. So the own transaction id is added when it is assigned and
-- below xmax (at or after xmax it counts as in progress anyway).
--
-- STABLE matters: the function then sees with the snapshot of the statement that calls it, not with a newer one of its own.
create function snapshot_now() returns pg_snapshot
language plpgsql
stable
set search_path from current
as $$
declare
  taken constant pg_snapshot := pg_current_snapshot();
  own constant xid8 := pg_current_xact_id_if_assigned();
  in_progress text;
begin
  if own is null or own >= pg_snapshot_xmax(taken) then
    return taken;
  end if;
  select string_agg(x::text, ',' order by x)
    into in_progress
    from (select pg_snapshot_xip(taken) union select own) as open(x);
  return format('%s:%s:%s', least(pg_snapshot_xmin(taken)::text::numeric, own::text::numeric), pg_snapshot_xmax(taken), in_progress)::pg_snapshot;
end
$$;

-- schema/04_require_read_committed.sql

-- Refuses every isolation level but READ COMMITTED: with an older snapshot the old cursor is read, and messages come
-- twice or not at all. For receive, subscribe and maintain; send, ack and nack work in any.
create function require_read_committed(caller text) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using
      errcode = 'PQ005',
      message = format('%s needs isolation level "read committed", this transaction is "%s"', caller, current_setting('transaction_isolation')),
      hint = 'Its snapshot may be older than the cursor, and messages would come twice. Call it in a transaction of its own.';
  end if;
end
$$;

-- schema/05_segment_pointer.sql

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

-- schema/06_cluster_mark.sql

-- The mark of the cluster that this schema lives in.
--
-- Transaction ids and snapshots mean something in one cluster alone. In a copy that was made row by row, by pg_dump or by logical
-- replication, every one that is stored is another cluster's. A message sent there gets an id that a cursor may have long passed:
-- nobody would ever receive it. So nothing is sent or received in such a copy before repair() has been called.
--
-- The mark is a row that knows the transaction that wrote it and the oid of its table. What copies rows writes them anew, with a
-- transaction and into a table of its own, so the copy of the mark is wrong. What copies blocks (a standby, a base backup, a
-- storage snapshot, CREATE DATABASE) keeps the transaction ids, and the mark stays right. pg_upgrade, and whatever makes a logical
-- replica out of a copy of blocks, gives the cluster a new system identifier: that counts as another cluster too, although after
-- pg_upgrade alone the ids are right and repair() has nothing to put right.
create table cluster_mark (
  singleton boolean primary key default true check (singleton),
  row_xmin xid,
  row_tableoid oid,
  -- null: this server does not say
  system_identifier bigint
);

comment on table cluster_mark is 'Says in which cluster the stored transaction ids mean something: one row.';

-- The cluster's identifier; null where a provider does not let one read it. A standby has that of its primary.
create function own_system_identifier() returns bigint
language plpgsql
stable
set search_path from current
as $$
begin
  return (select c.system_identifier from pg_control_system() c);
exception
  when others then
    return null;
end
$$;

-- Makes this schema the running cluster's. In one function, because a row has the id of the subtransaction that writes it, and each
-- statement of an installer may have one of its own. The update writes the row in the same one as the insert, whose xmin it reads.
create function mark_cluster() returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  delete from cluster_mark;
  insert into cluster_mark default values;
  update cluster_mark k
     set row_xmin = k.xmin,
         row_tableoid = k.tableoid,
         system_identifier = own_system_identifier();
end
$$;

select mark_cluster();

-- Whether the running cluster has written the mark.
create function is_marked() returns boolean
language sql
volatile
set search_path from current
begin atomic
  select exists (
    select from cluster_mark k
     where k.row_xmin = k.xmin
       and k.row_tableoid = k.tableoid
       and (k.system_identifier = own_system_identifier()) is not false
  );
end;

-- The same for whoever must not spend time on it. IMMUTABLE, which it is not: so the planner calls it, once for each place and session,
-- and what runs afterwards is a constant. A session's schema does not become another cluster's, and where this said true, require_home
-- looks again.
create function is_elsewhere() returns boolean
language sql
immutable
set search_path from current
return not is_marked();

-- Refuses to work on what another cluster has written.
create function require_home() returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if is_elsewhere() and not is_marked() then
    raise exception using
      errcode = 'PQ007',
      message = format('expected the messages in schema %s to be this cluster''s, found those of another: they were restored, replicated or upgraded', quote_ident(current_schema())),
      hint = format('With senders and workers stopped, call %I.repair() as the owner of the schema: it loses nothing and brings nothing back that was settled.', current_schema());
  end if;
end
$$;

-- schema/09_caller.sql

-- Who calls. Inside a SECURITY DEFINER function current_user is the owner, session_user knows nothing of SET ROLE, and neither is right
-- for a function that a SECURITY DEFINER function of the application calls. So what asks takes one more argument
--
--   caller caller default current_user
--
-- whose default and whose check are evaluated where the call is made, by who makes it: nobody can pass another's name. A null can be passed,
-- by a subquery without rows: no check of a domain is made of that. So who asks takes nothing for granted that is not true.
create domain caller as name not null constraint is_the_caller check (value = current_user);

comment on domain caller is 'The role that calls a function: leave it out.';

-- Refuses a role that may not receive from a queue. A queue that is not there is left to the caller, who says so.
-- To receive from a queue is to hold EXECUTE on the functions generated for it: see 26_roles.sql.
create function require_receive(caller name, queue_id int) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  queue_name text;
begin
  if has_function_privilege(caller, to_regprocedure(format('ack_%s(bigint)', queue_id)), 'execute') then
    return;
  end if;
  select q.name into queue_name from queue q where q.id = queue_id;
  if queue_name is not null then
    raise exception using
      errcode = 'insufficient_privilege',
      message = format('permission denied for queue %s: role %s may not receive from it', queue_name, quote_ident(caller)),
      hint = format('select grant_queue(%L, %L, ''receive'')', queue_name, caller);
  end if;
end
$$;

-- Refuses a role that may neither send to a queue nor receive from it.
create function require_use(caller name, queue_id int) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if has_function_privilege(caller, format('send_%s(text, text, jsonb)', queue_id), 'execute') is not true then
    perform require_receive(caller, queue_id);
  end if;
end
$$;

-- Refuses a role that may not administer queues.
create function require_admin(caller name) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if has_function_privilege(caller, 'drop_queue(text, boolean)', 'execute') is not true then
    raise exception using
      errcode = 'insufficient_privilege',
      message = format('permission denied: role %s may not administer queues', quote_ident(caller)),
      hint = format('Members of %s may.', quote_ident(schema_role('admin')));
  end if;
end
$$;

-- The number of a queue that a role may receive from.
create function receivable_queue(caller name, queue text) returns int
language plpgsql
stable
set search_path from current
as $$
declare
  queue_id constant int := require_queue(queue);
begin
  perform require_receive(caller, queue_id);
  return queue_id;
end
$$;

-- schema/10_queue.sql

-- The registry: queues. Changed only by people (create, configure, drop), so its UPDATEs and DELETEs do not matter.
create table queue (
  -- part of every batch id, which has 14 bits for it; the number of a dropped queue is given out again
  id int primary key check (id between 1 and 16383),
  -- never given out again: what waits elsewhere for a queue knows it by this
  uid bigint not null unique generated always as identity,
  name text not null unique check (octet_length(name) between 1 and 57),
  -- a message is delivered at most max_retries + 1 times, then becomes a dead letter
  max_retries int not null default 5 check (max_retries between 0 and 32000),
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
  payload_bytes_max int not null default 1024 * 1024 check (payload_bytes_max between 1 and 1000000000),
  -- whether senders wake idle workers by NOTIFY, which a transaction that is to be prepared must not do
  wake boolean not null default true,
  -- sub-logs with cursors of their own. priority: a message's lane is its priority, and higher ones are received first. key: messages of
  -- one key share a lane, which an ordered consumer receives one batch at a time. Null: one lane
  lane_by text check (lane_by in ('priority', 'key')),
  lanes int not null default 1 check (lanes between 1 and 1024),
  -- every so many batches the lowest priority comes first, so that it is not starved; null: never
  lowest_first_every int check (lowest_first_every > 1),
  -- messages may be sent with an end of their life, after which they are not delivered
  expiry boolean not null default false,
  -- receives return nothing
  paused boolean not null default false,
  created_at timestamptz not null default now()
);

comment on table queue is 'The queues: name and settings.';

-- schema/11_consumer.sql

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
  -- limits, see 56_allowance.sql; null: none
  max_in_flight int check (max_in_flight > 0),
  rate_limit int check (rate_limit > 0),
  rate_period interval not null default '1 s',
  paused boolean not null default false,
  created_at timestamptz not null default now(),
  unique (queue_id, name)
);

comment on table consumer is 'The consumers of each queue.';

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

-- schema/12_require.sql

-- The number of a queue, or the error that says it is not there.
create function require_queue(queue text) returns int
language plpgsql
stable
security definer
set search_path from current
as $$
declare
  found_id int;
begin
  select q.id into found_id from queue q where q.name = require_queue.queue;
  if found_id is null then
    raise exception using
      errcode = 'PQ001',
      message = format('queue not found: %s', coalesce(queue, 'NULL')),
      hint = 'Create it with create_queue(name).';
  end if;
  return found_id;
end
$$;

-- The number of a consumer of a queue, or the error that says it is not there.
create function require_consumer(queue_id int, consumer text) returns int
language plpgsql
stable
security definer
set search_path from current
as $$
declare
  found_id int;
  dropped dropped_consumer;
begin
  select c.id into found_id from consumer c where c.queue_id = require_consumer.queue_id and c.name = consumer;
  if found_id is null then
    select * into dropped from dropped_consumer d where d.queue_id = require_consumer.queue_id and d.name = consumer;
    if found then
      raise exception using
        errcode = 'PQ002',
        message = format('consumer not registered: %s was dropped at %s, it had not received what was sent at %s', consumer, dropped.dropped_at, dropped.oldest_at),
        hint = 'The queue''s max_lag did that. Register it again with subscribe(queue, consumer), and let it keep up.';
    end if;
    raise exception using
      errcode = 'PQ002',
      message = format('consumer not registered: %s', coalesce(consumer, 'NULL')),
      hint = 'Register it with subscribe(queue, consumer).';
  end if;
  return found_id;
end
$$;

-- schema/13_check_max_messages.sql

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

-- schema/13_check_name.sql

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

-- schema/13_check_options.sql

-- Options that people set: what each may be, and everything that is wrong with those they gave, said at once.

-- What an option may be. By kind:
--   integer   from lowest to highest
--   interval  from lowest to highest, an interval or a number of seconds
--   span      the same, longer than 0 and at most highest
--   boolean   true or false
--   text      any string
--   word      one of those in lowest, which commas separate
create type option_kind as (name text, kind text, lowest text, highest text, may_be_null boolean);

-- Whether a value is one that the option may have.
create function is_option_value(value jsonb, of option_kind) returns boolean
language plpgsql
stable
set search_path from current
as $$
declare
  given constant text := value #>> '{}';
begin
  if given is null then
    return (of).may_be_null;
  end if;
  return case (of).kind
    when 'integer' then given ~ '^-?[0-9]{1,19}$' and given::numeric between (of).lowest::numeric and (of).highest::numeric
    when 'interval' then given::interval between (of).lowest::interval and (of).highest::interval
    when 'span' then given::interval > '0' and given::interval <= (of).highest::interval
    when 'boolean' then given::boolean is not null
    when 'text' then jsonb_typeof(value) = 'string'
    when 'word' then given = any (string_to_array((of).lowest, ','))
  end;
exception
  when data_exception then
    return false;
end
$$;

-- What an option may be, in words.
create function option_expectation(of option_kind) returns text
language sql
immutable
return case (of).kind
  when 'integer' then format('an integer from %s to %s', (of).lowest, (of).highest)
  when 'interval' then format('from %s to %s', (of).lowest, (of).highest)
  when 'span' then format('longer than 0 and at most %s', (of).highest)
  when 'boolean' then 'true or false'
  when 'text' then 'a string'
  when 'word' then regexp_replace(replace((of).lowest, ',', ', '), ', (\w+)$', ' or \1')
end || case when (of).may_be_null then ', or null' else '' end;

-- The options that are unknown or have a value that they may not have, each with what is wrong. what: whose options, for the message.
create function option_problems(options jsonb, what text, known option_kind[]) returns table (name text, problem text)
language plpgsql
stable
set search_path from current
as $$
begin
  if jsonb_typeof(options) is distinct from 'object' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected the options of %s to be a JSON object, got: %s', what, coalesce(left(options::text, 100), 'NULL'));
  end if;
  return query
    select o.key,
           case when k.name is null
             then format('unknown option of %s: %L', what, left(o.key, 100))
             else format('expected %s to be %s, got: %s', o.key, option_expectation(k), left(o.value::text, 100))
           end
      from jsonb_each(options) as o
      left join unnest(known) as k on k.name = o.key
     where k.name is null or not is_option_value(o.value, k)
     order by k.name is not null, o.key;
end
$$;

-- Raises all problems as one error; none of them: returns.
create function refuse_options(problems text[], known option_kind[]) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if cardinality(problems) > 0 then
    raise exception using
      errcode = 'PQ004',
      message = array_to_string(problems, '; '),
      hint = format('Nothing was changed. Known options: %s.', (select string_agg(k.name, ', ') from unnest(known) as k));
  end if;
end
$$;

-- schema/14_dead_letter.sql

-- Messages whose attempts are used up, or that were buried, with the reason of the last one. Only operators delete from it.
create table dead_letter (
  id bigint generated always as identity primary key,
  queue_id int not null references queue on delete cascade,
  -- by name: dead letters outlive a consumer
  consumer text not null,
  message_id bigint not null,
  attempt int not null,
  lane smallint not null default 0,
  key text,
  type text not null,
  payload text,
  headers jsonb,
  created_at timestamptz not null,
  died_at timestamptz not null default clock_timestamp(),
  reason text
);

create index dead_letter_by_queue on dead_letter (queue_id, id);

comment on table dead_letter is 'Messages whose attempts are used up, or that were buried, with the reason of the last one.';

-- schema/15_types.sql

-- One received message in the shape that PgQue's clients know: they build it as a ten-field row for nack.
create type message as (
  msg_id bigint,
  batch_id bigint,
  type text,
  payload text,
  retry_count int,
  created_at timestamptz,
  extra1 text,
  extra2 text,
  extra3 text,
  extra4 text
);

-- One received message with everything known of it.
create type received_message as (
  batch_id bigint,
  message_id bigint,
  attempt int,
  type text,
  payload text,
  headers jsonb,
  created_at timestamptz,
  leased_until timestamptz,
  -- null on a queue that has none
  priority int,
  key text
);

-- Up to where the batches of a cursor are finished: see 42_open_batches.sql.
create type settled_line as (settled_before bigint, still_open bigint[]);

-- schema/16_heartbeat.sql

-- Workers' heartbeats: one inserted row per worker per period, whatever the number of its batches. A ring of three
-- tables; a heartbeat that has run out says nothing, so a table in which all have is truncated.
create table heartbeat (
  segment int not null,
  worker text not null,
  alive_until timestamptz not null,
  -- the name under which the worker holds a session's lock; null: it holds none
  session text
) partition by list (segment);

create table heartbeat_0 partition of heartbeat for values in (0) with (autovacuum_enabled = off);
create table heartbeat_1 partition of heartbeat for values in (1) with (autovacuum_enabled = off);
create table heartbeat_2 partition of heartbeat for values in (2) with (autovacuum_enabled = off);
create index heartbeat_of_worker on heartbeat (worker, alive_until);

comment on table heartbeat is 'A worker is alive until the latest of its rows says so.';

-- Which table takes heartbeats, and since when: see segment_pointer.
create sequence heartbeat_pointer minvalue 0;
select setval('heartbeat_pointer', pointer_to(0));

-- Keeps alive, for ttl from now, the lease of every batch that was received under this worker's name. session: the name that hold_session
-- was given on another connection of the worker, which is dead as soon as that connection is.
create function heartbeat(worker text, ttl interval default '15 s', session text default null) returns void
language plpgsql
security definer
set search_path from current
as $$
begin
  if worker is null or ttl is null or not (ttl > '0' and ttl <= '1 day') then
    raise exception using
      errcode = 'PQ004',
      message = format('expected a worker name and a ttl between 0 and 1 day, got: %L and %L', worker, ttl),
      hint = 'Send a heartbeat every third of its ttl, with the worker name that receive_messages was given.';
  end if;
  insert into heartbeat values (pointer_segment(pg_sequence_last_value('heartbeat_pointer')), worker, clock_timestamp() + ttl, session);
end
$$;

create function session_key(session text) returns bigint
language sql
stable
set search_path from current
return hashtextextended(session, lock_seed('session', 0));

-- Holds a lock for as long as this session lasts, so that its end is noticed at once. True: held. False: somebody has just looked
-- whether it is, or another session holds it; try again.
create function hold_session(session text) returns boolean
language sql
volatile
security definer
set search_path from current
return pg_try_advisory_lock(session_key(session));

-- Whether the last heartbeat of a worker has not run out.
create function is_alive(worker text) returns boolean
language sql
volatile
set search_path from current
begin atomic
  select exists (select from heartbeat h where h.worker = is_alive.worker and h.alive_until >= clock_timestamp());
end;

-- For so long after its start the server says nothing about who is dead: all sessions ended with it, those of living workers too.
create function session_grace() returns interval
language sql
immutable
return interval '30 s';

-- Whether a worker's last heartbeat named a session that is over.
create function has_lost_session(worker text) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  last_session text;
  key bigint;
begin
  if pg_postmaster_start_time() > clock_timestamp() - session_grace() then
    return false;
  end if;
  select h.session into last_session from heartbeat h where h.worker = has_lost_session.worker order by h.alive_until desc limit 1;
  key := session_key(last_session);
  if last_session is null or not pg_try_advisory_xact_lock_shared(key) then
    return false;
  end if;
  -- it was free, or it is this session's own
  return not exists (
    select from pg_locks l
     where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock'
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
       and l.objsubid = 1 and (l.classid::bigint << 32) | l.objid::bigint = key
  );
end
$$;

-- schema/17_delayed.sql

-- What waits for its time: messages sent with a delay, and retries. One store for all queues, so that a queue that delays nothing
-- costs nothing.
--
-- Messages due within an hour wait in "near", all others in "far" until that hour has come. Each of the two is a pair of tables;
-- a sequence says which of them takes inserts. Rows leave a table by being copied, and by DELETE only when a person will not wait
-- (deliver_delayed): its log says how far it has been moved, see move_delayed. Once most of a table has been moved, the other one takes
-- over, what is left is copied there and the table is truncated: a copying collector that writes each message about once more.

-- Creates one table and the log of its moves.
create function create_delayed(name text) returns void
language plpgsql
set search_path from current
as $$
begin
  execute format($ddl$
    create table %1$I (
      -- of the top-level transaction, so savepoints do not matter
      txid xid8 not null default pg_current_xact_id(),
      due_at timestamptz not null check (isfinite(due_at)),
      -- counts the rows since the last truncation
      seq bigint generated always as identity,
      -- numbers of dropped queues are given out again, these are not
      queue_uid bigint not null,
      id bigint not null,
      created_at timestamptz not null default clock_timestamp(),
      -- null: for every consumer
      consumer_id int,
      attempt smallint not null default 1,
      lane smallint not null default 0,
      key text,
      expires_at timestamptz,
      type text not null,
      payload text,
      headers jsonb
    ) with (autovacuum_enabled = off, toast.autovacuum_enabled = off);
    create index on %1$I (due_at, seq);
    create index on %1$I (txid);
    comment on table %1$I is 'Messages that wait for their time.';

    create table %2$I (
      n bigint primary key,
      -- a row has been moved if and only if this snapshot sees it and it is at or before (due_at, seq)
      snapshot pg_snapshot not null,
      due_at timestamptz not null,
      seq bigint not null,
      -- rows moved since the last truncation
      moved bigint not null,
      created_at timestamptz not null default clock_timestamp()
    ) with (autovacuum_enabled = off);
    comment on table %2$I is 'How far the messages of that table have been moved: the newest row says.';
  $ddl$, name, name || '_log');
end
$$;

select create_delayed('delayed_near_0');
select create_delayed('delayed_near_1');
select create_delayed('delayed_far_0');
select create_delayed('delayed_far_1');

create function delayed_tables() returns text[]
language sql
immutable
return '{delayed_near_0,delayed_near_1,delayed_far_0,delayed_far_1}'::text[];

-- Which table of each store takes inserts, and since when: see segment_pointer.
create sequence delayed_near_pointer minvalue 0;
create sequence delayed_far_pointer minvalue 0;
select setval('delayed_near_pointer', pointer_to(0)), setval('delayed_far_pointer', pointer_to(0));

-- What is due later than this from now waits in the far store.
create function delayed_near_span() returns interval
language sql
immutable
return interval '1 hour';

-- The table of a store (near, far) that takes inserts.
create function delayed_table(store text) returns text
language sql
volatile
set search_path from current
return format('delayed_%s_%s', store, pointer_segment(pg_sequence_last_value(format('delayed_%s_pointer', store)::regclass)));

-- schema/18_send_options.sql

-- What a send may be told: headers, when the message is due and until when it counts, its priority or its key, a dedupe key; for a batch dedupe_keys, in parallel with
-- the payloads.

-- Whether options are such as a queue takes: known ones, headers that are an object, and none that exclude each other. Written into the
-- expression that asks, which costs a send much less than a call.
create function are_send_options(options jsonb, known text[]) returns boolean
language sql
immutable
return case when jsonb_typeof(options) = 'object' then
  options - known = '{}'
  and coalesce(jsonb_typeof(options -> 'headers') = 'object', true)
  and not options ?& '{delay,at}' and not options ?& '{expires_after,expires_at}' and not options ?& '{key,keys}'
  and (options ?| '{dedupe_key,dedupe_keys}' or not options ? 'dedupe_ttl')
else false end;

-- The options that send, and send_batch, of a queue take.
create function known_send_options(queue_id int, of_batch boolean) returns text[]
language sql
stable
set search_path from current
begin atomic
  select '{delay,at}'::text[]
         || case when of_batch then '{dedupe_keys,dedupe_ttl}'::text[] else '{headers,dedupe_key,dedupe_ttl}' end
         || case when q.expiry then '{expires_after,expires_at}'::text[] else '{}' end
         || case q.lane_by when 'priority' then '{priority}'::text[] when 'key' then case when of_batch then '{key,keys}'::text[] else '{key}' end else '{}' end
    from queue q
   where q.id = known_send_options.queue_id;
end;

-- Says what is wrong with options that a queue does not take.
create function refuse_send_options(queue_id int, options jsonb, known text[]) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  settings queue;
  unknown text;
begin
  select q.* into settings from queue q where q.id = queue_id;
  if jsonb_typeof(options) <> 'object' then
    raise exception using errcode = 'PQ004', message = format('expected the options of a send to be a JSON object, got: %s', left(options::text, 100));
  end if;
  if (options ? 'priority' and settings.lane_by is distinct from 'priority')
     or (options ?| '{key,keys}' and settings.lane_by is distinct from 'key') then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s has no %s', quote_literal(settings.name),
        case when options ? 'priority' then 'priorities' else 'keys' end),
      hint = format('A queue is created with lane_by = %s; it has one or the other.', case when options ? 'priority' then 'priority' else 'key' end);
  end if;
  if options ?| '{expires_after,expires_at}' and not settings.expiry then
    raise exception using
      errcode = 'PQ004',
      message = format('messages of queue %s do not expire', quote_literal(settings.name)),
      hint = 'Set its option expiry to true.';
  end if;
  select string_agg(quote_literal(o.key), ', ') into unknown from jsonb_object_keys(options) as o(key) where o.key <> all (known);
  if unknown is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('unknown option of a send: %s', unknown),
      hint = format('Known options: %s.', array_to_string(known, ', '));
  end if;
  if jsonb_typeof(options -> 'headers') <> 'object' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected headers to be a JSON object, got: %s', left((options -> 'headers')::text, 100));
  end if;
  if options ?& '{delay,at}' then
    raise exception using errcode = 'PQ004', message = 'expected delay or at, got both';
  end if;
  if options ?& '{expires_after,expires_at}' then
    raise exception using errcode = 'PQ004', message = 'expected expires_after or expires_at, got both';
  end if;
  if options ?& '{key,keys}' then
    raise exception using errcode = 'PQ004', message = 'expected key or keys, got both';
  end if;
  if options ? 'dedupe_ttl' and not options ?| '{dedupe_key,dedupe_keys}' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected dedupe_ttl together with %s', case when 'dedupe_keys' = any (known) then 'dedupe_keys' else 'dedupe_key' end);
  end if;
end
$$;

-- An option that is a span of time, a number of seconds or an interval, longer than 0, or 0 if it may be. Null: it is not given.
create function option_interval(options jsonb, name text, longest interval, may_be_zero boolean default false) returns interval
language plpgsql
immutable
set search_path from current
as $$
declare
  span interval;
begin
  if not options ? name then
    return null;
  end if;
  span := case jsonb_typeof(options -> name)
    when 'number' then make_interval(secs => (options ->> name)::float8)
    else (options ->> name)::interval
  end;
  if (span > '0' and span <= longest or span = '0' and may_be_zero) is not true then
    raise exception numeric_value_out_of_range;
  end if;
  return span;
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected %s to be %s %s, got: %s', name, case when may_be_zero then 'from 0 to' else 'longer than 0 and at most' end, longest, left((options -> name)::text, 100)),
      hint = 'A number of seconds, or an interval such as "90 s".';
end
$$;

-- An option that is a time within 100 years. Null: it is not given.
create function option_time(options jsonb, name text) returns timestamptz
language plpgsql
volatile
set search_path from current
as $$
declare
  "time" timestamptz;
begin
  if not options ? name then
    return null;
  end if;
  "time" := (options ->> name)::timestamptz;
  if "time" is null or not isfinite("time") or "time" > clock_timestamp() + interval '100 years' then
    raise exception numeric_value_out_of_range;
  end if;
  return "time";
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected %s to be a time within 100 years, got: %s', name, left((options -> name)::text, 100)),
      hint = 'A time such as "2030-01-31T12:00:00Z".';
end
$$;

-- When a message with these options is due: after a delay, or at a time. Null: at once.
create function send_due_at(options jsonb) returns timestamptz
language sql
volatile
set search_path from current
return coalesce(
  clock_timestamp() + option_interval(options, 'delay', '100 years', may_be_zero => true),
  option_time(options, 'at')
);

-- Until when a message with these options is delivered. Null: always.
create function send_expires_at(options jsonb) returns timestamptz
language sql
volatile
set search_path from current
return coalesce(clock_timestamp() + option_interval(options, 'expires_after', '100 years'), option_time(options, 'expires_at'));

-- Stores messages until they are due.
create function send_later(
  queue_uid bigint, due_at timestamptz, ids bigint[], lanes int[], keys text[], expires_at timestamptz, type_name text, payloads text[],
  headers jsonb[]
) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  execute format($sql$
    insert into %I (due_at, queue_uid, id, lane, key, expires_at, type, payload, headers)
    select $1, $2, m.id, coalesce(m.lane, 0), m.key, $9, $3, m.payload, m.headers
      from unnest($4, $5, $6, $7, $8) as m(id, lane, key, payload, headers)
  $sql$, delayed_table(case when due_at > clock_timestamp() + delayed_near_span() then 'far' else 'near' end))
    using due_at, queue_uid, type_name, ids, lanes, keys, payloads, headers, expires_at;
end
$$;

-- The priority that a message is sent with, 0 unless options say otherwise; it is the number of its lane.
create function send_priority(options jsonb, lanes int) returns int
language plpgsql
immutable
set search_path from current
as $$
declare
  priority constant jsonb := options -> 'priority';
begin
  if priority is null then
    return 0;
  end if;
  if jsonb_typeof(priority) <> 'number' or priority::text !~ '^[0-9]{1,4}$' or priority::int >= lanes then
    raise exception using
      errcode = 'PQ004',
      message = format('expected priority to be an integer from 0 to %s, got: %s', lanes - 1, left(priority::text, 100)),
      hint = 'Higher ones are received first.';
  end if;
  return priority::int;
end
$$;

-- The key that a message is sent with; null: none.
create function send_key(options jsonb) returns text
language plpgsql
immutable
set search_path from current
as $$
begin
  perform check_key(options -> 'key');
  return options ->> 'key';
end
$$;

-- The keys of a batch of messages, one each: keys, or key for all, or none.
create function send_keys(options jsonb, messages int) returns text[]
language plpgsql
immutable
set search_path from current
as $$
begin
  if not options ? 'keys' then
    return array_fill(send_key(options), array[messages]);
  end if;
  if jsonb_typeof(options -> 'keys') <> 'array' or jsonb_array_length(options -> 'keys') <> messages then
    raise exception using
      errcode = 'PQ004',
      message = format('expected keys to be an array of %s, as many as payloads, got: %s', messages, left((options -> 'keys')::text, 100)),
      hint = 'Use null for a message without a key.';
  end if;
  perform check_key(k) from jsonb_array_elements(options -> 'keys') as k where k <> 'null';
  return array(select k.value from jsonb_array_elements_text(options -> 'keys') with ordinality as k(value, n) order by n);
end
$$;

create function check_key(key jsonb) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if jsonb_typeof(key) <> 'string' or octet_length(key #>> '{}') > 1000 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected key to be a string of at most 1000 bytes, got: %s', left(key::text, 100)),
      hint = 'Messages of one key are handled in order.';
  end if;
end
$$;

-- schema/19_backoff.sql

-- How long to wait before a message is tried again that failed at an attempt, for retry_after of nack: first, times factor with each
-- attempt (1: fixed), never longer than most, times a random number from 1 - jitter to 1, so that what failed together does not come back
-- together.
create function backoff(
  attempt int, first interval default '1 s', factor float8 default 2, most interval default '1 hour', jitter float8 default 1
) returns interval
language plpgsql
volatile
set search_path from current
as $$
declare
  first_s constant float8 := extract(epoch from first);
  most_s constant float8 := extract(epoch from most);
begin
  if (attempt >= 1 and first_s >= 0 and factor >= 1 and factor <= 1000 and most_s >= first_s and most_s < 'infinity' and jitter between 0 and 1) is not true then
    raise exception using
      errcode = 'PQ004',
      message = format('expected an attempt from 1, 0 <= first <= most, a factor from 1 to 1000 and a jitter from 0 to 1, got: %s',
        concat_ws(', ', coalesce(attempt::text, 'NULL'), coalesce(first::text, 'NULL'), coalesce(factor::text, 'NULL'), coalesce(most::text, 'NULL'), coalesce(jitter::text, 'NULL')));
  end if;
  -- the power of an attempt in the thousands would overflow
  return make_interval(secs => least(most_s, first_s * power(factor, least(attempt - 1, 100))) * (1 - jitter * random()));
end
$$;

-- schema/20_segment.sql

-- What a queue stores, and in what.
--
-- A queue is a ring of segments, three to begin with. A segment is one generation of three tables that are truncated
-- together once it is drained; queue 7's segment 0 is message_7_0, batch_7_0, outcome_7_0.
--
--   message   what was sent, and what is tried again for one consumer. Inheritance, not partitioning: senders insert
--             straight into a child and take no lock on the parent.
--   batch     the log of each (consumer, lane): what was received, under which lease. Its newest row IS the cursor.
--   outcome   how batches ended. It lies in the segment of its batch, whatever segment takes inserts by then: a unique
--             constraint does not span the ring.
--
-- Autovacuum is off: segments are truncated long before freezing matters.

-- The tables that a queue's segments belong to.
create function create_segment_parents(queue_id int) returns void
language plpgsql
set search_path from current
as $$
begin
  execute format($ddl$
    create table message_%1$s (
      -- of the top-level transaction, so savepoints do not matter
      txid xid8 not null default pg_current_xact_id(),
      -- one value per row; orders the messages of one transaction
      seq bigint not null,
      -- stable across attempts; seq of the first one
      id bigint not null,
      created_at timestamptz not null default clock_timestamp(),
      -- null: for every consumer
      consumer_id int,
      attempt smallint not null default 1,
      lane smallint not null default 0,
      -- what the lane was found by, on a queue with lane_by = key
      key text,
      -- not delivered from then on; null: always
      expires_at timestamptz,
      type text not null,
      payload text,
      headers jsonb
    ) with (autovacuum_enabled = off);
    create index on message_%1$s (lane, txid, seq);

    create table batch_%1$s (
      segment smallint not null,
      consumer_id int not null,
      lane smallint not null default 0,
      -- counts the rows of a (consumer, lane); the highest is the cursor
      n bigint not null,
      -- null: a row that only moves the cursor
      id bigint,
      -- The window is what next_snapshot sees and prev_snapshot does not. Null: the window of row window_n, which lies
      -- in the same segment.
      prev_snapshot pg_snapshot,
      next_snapshot pg_snapshot,
      window_n bigint not null,
      -- which segments hold the window's messages, and each one's first and last txid. Null: not known, look into all
      window_segments int[],
      window_mins xid8[],
      window_maxs xid8[],
      -- position (txid, seq) of the first and the last message of the batch; the last is where the cursor stands
      first_txid xid8,
      first_seq bigint,
      last_txid xid8 not null,
      last_seq bigint not null,
      messages int not null,
      -- messages that this cursor has passed over, ever, because they had expired
      expired bigint not null default 0,
      -- of that range these messages only, each at its attempt; null: all, each at its own
      rest_ids bigint[],
      rest_attempts smallint[],
      -- nothing is left of the window: the next receive need not look
      exhausted boolean not null default false,
      -- every batch of this (consumer, lane) before this n is finished, except those still_open names
      settled_before bigint not null default 1,
      still_open bigint[],
      worker text,
      created_at timestamptz not null default clock_timestamp(),
      lease_until timestamptz,
      -- the rest of an ordered batch, which is handed out to nobody before this time
      waits_until timestamptz,
      -- of a consumer with a rate limit: see 56_allowance.sql
      rate_until timestamptz
    ) partition by list (segment);
    create index on batch_%1$s (consumer_id, lane, n);
    create index on batch_%1$s (id);

    create table outcome_%1$s (
      segment smallint not null,
      batch_id bigint not null,
      -- counts the outcomes of a batch: two that are written at once cannot overlook each other
      n int not null,
      -- the batch is finished: what no outcome names was acked
      final boolean not null,
      -- the messages this outcome settles
      message_ids bigint[] not null default '{}',
      created_at timestamptz not null default clock_timestamp(),
      primary key (batch_id, n, segment)
    ) partition by list (segment);

    create sequence message_seq_%1$s owned by message_%1$s.seq;
    create sequence batch_seq_%1$s maxvalue 134217727 cycle owned by batch_%1$s.id;
    create sequence segment_pointer_%1$s minvalue 0 owned by message_%1$s.txid;
    create sequence lock_attempts_%1$s minvalue 0 owned by message_%1$s.txid;
  $ddl$, queue_id);
  perform setval(format('segment_pointer_%s', queue_id), pointer_to(0));
  perform setval(format('lock_attempts_%s', queue_id), 0);
end
$$;

-- Adds one segment to the ring of a queue, and makes the queue's functions know it.
--
-- Receivers hold ROW EXCLUSIVE on the parent of the batch tables from before their first look until their transaction
-- ends; EXCLUSIVE conflicts with it and with no sender, no ack and no reader (pg_dump). Without it, a second receive in one
-- transaction runs on a plan that does not know the new segment, moves its cursor past messages in it and loses them.
create function create_segment(queue_id int, segment int) returns void
language plpgsql
set search_path from current
as $$
declare
  kind text;
begin
  execute format('lock table only batch_%s in exclusive mode', queue_id);
  execute format($ddl$
    create table message_%1$s_%2$s () inherits (message_%1$s) with (autovacuum_enabled = off, toast.autovacuum_enabled = off);
    create index on message_%1$s_%2$s (lane, txid, seq);
  $ddl$, queue_id, segment);
  -- attached, not created as partitions: that would need ACCESS EXCLUSIVE on the parents, and wait for pg_dump
  foreach kind in array array['batch', 'outcome'] loop
    execute format($ddl$
      create table %1$s_%2$s_%3$s (like %1$s_%2$s including all) with (autovacuum_enabled = off, toast.autovacuum_enabled = off);
      alter table %1$s_%2$s attach partition %1$s_%2$s_%3$s for values in (%3$s);
    $ddl$, kind, queue_id, segment);
  end loop;
end
$$;

-- How many segments the ring of a queue has; they are numbered from 0.
create function segment_count(queue_id int) returns int
language sql
stable
set search_path from current
return (select count(*)::int from pg_inherits where inhparent = to_regclass(format('message_%s', queue_id)));

-- What tables of a segment take on disk in bytes, with their TOAST, without indexes.
create function segment_bytes(queue_id int, segment int, kinds text[] default '{message,batch,outcome}') returns bigint
language sql
volatile
set search_path from current
begin atomic
  select sum(pg_relation_size(c.oid) + case when c.reltoastrelid = 0 then 0 else pg_relation_size(c.reltoastrelid) end)::bigint
    from unnest(kinds) as kind
    join pg_class c on c.oid = format('%s_%s_%s', kind, queue_id, segment)::regclass;
end;

-- Somebody is truncating or creating this table: the transaction that does it has not ended.
create function is_being_truncated(relation regclass) returns boolean
language sql
volatile
set search_path from current
begin atomic
  select exists (
    select from pg_locks l
     where l.locktype = 'relation' and l.mode = 'AccessExclusiveLock' and l.relation = is_being_truncated.relation
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
  );
end;

-- schema/21_batch_id.sql

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

-- schema/22_create_queue.sql

-- Creating, configuring and dropping queues: the only work that changes the registry, done by people.

-- The functions of one queue that are generated, with all segments of its ring.
create function generate_functions(queue_id int) returns void
language plpgsql
set search_path from current
as $$
begin
  perform generate_lane_of(queue_id);
  perform generate_send(queue_id);
  perform generate_send_batch(queue_id);
  perform generate_receive(queue_id);
  perform generate_ack(queue_id);
end
$$;

-- Creates a queue. 1 created, 0 there was one of that name (its options are left alone: see change_queue): to learn that, nobody needs to be an
-- administrator. The options and what they may be: queue_option_kinds. Null or left out: the default. What is wrong with them is said all at once.
create function create_queue(queue text, options jsonb default '{}', caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  new_id int;
begin
  perform check_new_queue(options), check_name('queue', queue);
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  if exists (select from queue q where q.name = create_queue.queue) then
    return 0;
  end if;
  perform require_admin(caller);
  select free into new_id from generate_series(1, 16383) as free where not exists (select from queue q where q.id = free) limit 1;
  if new_id is null then
    raise exception using errcode = 'PQ004', message = 'expected at most 16383 queues in one schema', hint = 'Drop one, or install another schema.';
  end if;
  insert into queue (id, name) values (new_id, create_queue.queue);
  perform store_queue(configured_queue(q, lane_options(jsonb_strip_nulls(options)))) from queue q where q.id = new_id;
  perform create_segment_parents(new_id);
  for segment in 0 .. 2 loop
    perform create_segment(new_id, segment);
  end loop;
  perform generate_functions(new_id);
  perform generate_dispatchers();
  perform grant_to_roles(new_id);
  return 1;
end
$$;

-- Drops a queue and everything in it. 1 dropped, 0 there was none. Fails while consumers are subscribed, unless forced.
create function drop_queue(queue text, force boolean default false) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  old_id int;
  consumers text;
begin
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  select q.id into old_id from queue q where q.name = drop_queue.queue;
  if old_id is null then
    return 0;
  end if;
  select string_agg(c.name, ', ' order by c.name) into consumers from consumer c where c.queue_id = old_id;
  if consumers is not null and not force then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s has consumers: %s', quote_literal(queue), consumers),
      hint = 'Unsubscribe them first, or force the drop: what they have not received is lost.';
  end if;
  perform pg_advisory_xact_lock(lock_key('maintain', old_id)), pg_advisory_xact_lock(lock_key('delayed', 0));
  -- in the order in which receives and acks lock them, so that none of those under way waits for this while this waits for it
  execute format('lock table only batch_%s in access exclusive mode', old_id);
  execute format('lock table outcome_%s in access exclusive mode', old_id);
  execute format('lock table batch_%1$s, message_%1$s in access exclusive mode', old_id);
  delete from queue q where q.id = old_id;
  perform generate_dispatchers();
  execute format('drop table message_%1$s, batch_%1$s, outcome_%1$s cascade', old_id);
  execute format('drop function send_%1$s, send_batch_%1$s, receive_%1$s, ack_%1$s', old_id);
  execute format('drop function if exists lane_of_%s', old_id);
  return 1;
end
$$;

-- schema/23_subscribe.sql

-- Registers a consumer: 1 new, 0 exists. The first consumer of a queue starts at the earliest message kept, later ones from now on,
-- unless options say "from": see start_position. "mode" is exclusive (the default, PgQ's stream reader: see 48_exclusive.sql),
-- shared, or ordered, on a queue with lane_by = key; "on_failure" of an ordered one is block (the default) or skip: see 49_ordered.sql.
-- "max_in_flight", "rate_limit" and "rate_period" limit what is received: see 56_allowance.sql.
create function subscribe(queue text, consumer text, options jsonb default '{}', caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := receivable_queue(caller, queue);
  settings constant consumer := new_consumer(of_queue, consumer, options);
  start_from text := start_position(options ->> 'from');
  existing_mode text;
begin
  perform require_home();
  perform require_read_committed('subscribe');
  perform check_name('consumer', consumer);
  if options ->> 'max_in_flight' is not null then
    -- first, as for whoever configures the queue
    perform lock_queue_functions(of_queue);
  end if;
  perform pg_advisory_xact_lock(lock_key('subscribe', of_queue));
  select c.mode into existing_mode from consumer c where c.queue_id = of_queue and c.name = subscribe.consumer;
  if existing_mode <> options ->> 'mode' then
    raise exception using
      errcode = 'PQ004',
      message = format('consumer %s is %s, not %s', quote_literal(consumer), existing_mode, options ->> 'mode'),
      hint = 'Unsubscribe it first, or take another name.';
  end if;
  if existing_mode is not null then
    return 0;
  end if;
  if start_from is null and not exists (select from consumer c where c.queue_id = of_queue) then
    start_from := 'earliest';
  end if;
  delete from dropped_consumer d where d.queue_id = of_queue and d.name = consumer;
  if options ->> 'mode' = 'ordered' and (select q.lane_by from queue q where q.id = of_queue) is distinct from 'key' then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s has no keys to order by', quote_literal(queue)),
      hint = 'Create it with lane_by = key.';
  end if;
  perform add_consumer(settings, coalesce(start_from, 'latest'));
  if settings.max_in_flight is not null then
    perform generate_ack(of_queue);
  end if;
  return 1;
end
$$;

-- Places a consumer anew: at earliest, latest or a time, see start_position. What it has not received, its open batches and its retries
-- are left behind; what lies after the new position comes, or comes again.
create function seek(queue text, consumer text, "position" text, caller caller default current_user) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := receivable_queue(caller, queue);
  start_from constant text := start_position("position");
  old consumer;
begin
  perform require_home();
  perform require_read_committed('seek');
  perform pg_advisory_xact_lock(lock_key('subscribe', of_queue));
  select * into old from consumer c where c.id = require_consumer(of_queue, consumer);
  if start_from is null then
    raise exception using errcode = 'PQ004', message = 'expected a position, got: NULL', hint = 'earliest, latest or a time.';
  end if;
  -- under a new number: what was written for the old one alone is nobody's now
  delete from consumer c where c.id = old.id;
  perform add_consumer(old, start_from);
end
$$;

-- The settings of a consumer that is to be subscribed, from options that are checked here, "from" aside.
create function new_consumer(queue_id int, name text, options jsonb) returns consumer
language plpgsql
stable
set search_path from current
as $$
declare
  settings consumer;
begin
  settings.queue_id := queue_id;
  settings.name := name;
  settings.mode := coalesce(options ->> 'mode', 'exclusive');
  settings.on_failure := 'block';
  settings.rate_period := '1 s';
  settings.paused := false;
  perform check_consumer(settings, options, 'subscribe', array[
    row('from', 'text', null, null, true), row('mode', 'word', 'exclusive,shared,ordered', null, true)
  ]::option_kind[]);
  return configured_consumer(settings, options);
end
$$;

-- Adds a consumer and the first rows of its cursors.
create function add_consumer(settings consumer, start_from text) returns void
language plpgsql
volatile
set search_path from current
as $$
#variable_conflict use_column
declare
  reader int;
  nothing constant pg_snapshot := '1:1:';
  seen pg_snapshot;
begin
  -- no segment is truncated until this consumer can be seen by others
  execute format('lock table message_%1$s, batch_%1$s in access share mode', settings.queue_id);
  seen := case when start_from = 'earliest' then nothing else snapshot_now() end;
  insert into consumer (queue_id, name, mode, on_failure, max_in_flight, rate_limit, rate_period, paused)
  values (settings.queue_id, settings.name, settings.mode, settings.on_failure, settings.max_in_flight, settings.rate_limit, settings.rate_period, settings.paused)
  returning id into reader;
  -- from a time: each lane from the first message that was sent since
  execute format($sql$
    insert into batch_%1$s (segment, consumer_id, lane, n, window_n, prev_snapshot, next_snapshot, last_txid, last_seq, messages, exhausted)
    select pointer_segment(pg_sequence_last_value('segment_pointer_%1$s')), $1, l.lane, 1, 1,
           case when f.txid is null then $3 else $2 end, $3, coalesce(f.txid, '0'), coalesce(f.seq - 1, -1), 0, f.txid is null
      from generate_series(0, (select q.lanes from queue q where q.id = %1$s) - 1) as l(lane)
      left join lateral (
        select m.txid, m.seq
          from message_%1$s m
         where m.lane = l.lane and m.consumer_id is null and m.created_at >= $4
         order by m.lane, m.txid, m.seq
         limit 1
      ) f on true
  $sql$, settings.queue_id) using reader, nothing, seen,
    case when start_from in ('earliest', 'latest') then null else start_from::timestamptz end;
end
$$;

-- Where a consumer is placed: earliest, latest, or at the first message kept, in the order of the log, that was sent at or after a time.
-- Returned as it was given; null stays null.
create function start_position("position" text) returns text
language plpgsql
stable
set search_path from current
as $$
begin
  if "position" not in ('earliest', 'latest') then
    perform "position"::timestamptz;
  end if;
  return "position";
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected from to be "earliest", "latest" or a time such as "2030-01-31T12:00:00Z", got: %L', "position");
end
$$;

-- Removes a consumer: 1 removed, 0 there was none. What it has not received stays for the others.
create function unsubscribe(queue text, consumer text, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := receivable_queue(caller, queue);
  removed int;
begin
  delete from consumer c where c.queue_id = of_queue and c.name = unsubscribe.consumer;
  get diagnostics removed = row_count;
  return removed;
end
$$;

-- schema/24_lanes.sql

-- Lanes: sub-logs of a queue, each with a cursor per consumer. Which lane a message goes to is decided when it is sent, by its priority or
-- by its key.

-- The lane of a key. Our own hash: one of Postgres's may change between its majors, and with it the order. Null for null.
create function lane_of_key(key text, lanes int) returns int
language sql
stable
strict
return ((get_byte(sha256(convert_to(key, 'UTF8')), 0) << 8) | get_byte(sha256(convert_to(key, 'UTF8')), 1)) % lanes;

-- Writes lane_of_<queue id>, the lane of a message of a queue with keys; one without a key goes to any. A function that is written into
-- the plan of the INSERT that calls it: an INSERT that waited while lanes were added is planned again, and uses the new number.
create function generate_lane_of(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  if settings.lane_by = 'key' then
    execute format($ddl$
create or replace function lane_of_%1$s(key text, message_id bigint) returns int
language sql
stable
return coalesce(%2$I.lane_of_key(key, %3$s), (message_id %% %3$s)::int);
revoke all on function lane_of_%1$s(text, bigint) from public
$ddl$, queue_id, current_schema(), settings.lanes);
  end if;
end
$generate$;

-- The options of a new queue with the number of its lanes: ten priorities or 16 slots for keys, unless they say otherwise.
create function lane_options(options jsonb) returns jsonb
language sql
immutable
return jsonb_build_object('lanes', case options ->> 'lane_by' when 'priority' then 10 when 'key' then 16 else 1 end) || options;

-- Gives the consumers of a queue cursors for so many lanes, with keys only when nothing is left in those there are, so that the order of
-- a key is kept. Holds senders up for as long as it looks.
create function add_lanes(old queue, lanes int) returns void
language plpgsql
volatile
set search_path from current
set lock_timeout = '1s'
as $$
declare
  taken pg_snapshot;
begin
  perform require_read_committed('change_queue');
  -- who is just subscribing has cursors for the lanes there were
  perform pg_advisory_xact_lock(lock_key('subscribe', old.id));
  -- no sender has anything uncommitted in the queue, and those that come wait, and then use the new number
  execute (
    select format('lock table %s in share row exclusive mode', string_agg(format('only message_%s_%s', old.id, segment), ', '))
      from generate_series(0, segment_count(old.id) - 1) as ring(segment)
  );
  if old.lane_by = 'key' and not is_drained(old.id) then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s is not drained', quote_literal(old.name)),
      hint = 'Lanes are added when every consumer is done with everything and nothing is delayed: pause its senders, and try again.';
  end if;
  taken := snapshot_now();
  execute format($sql$
    insert into batch_%1$s (segment, consumer_id, lane, n, window_n, prev_snapshot, next_snapshot, last_txid, last_seq, messages, exhausted)
    select pointer_segment(pg_sequence_last_value('segment_pointer_%1$s')), c.id, l.lane, 1, 1, $1, $1, '0', -1, 0, true
      from consumer c
     cross join generate_series($2, $3 - 1) as l(lane)
     where c.queue_id = %1$s
  $sql$, old.id) using taken, old.lanes, lanes;
exception
  when lock_not_available then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s is in use', quote_literal(old.name)),
      hint = 'A transaction that has sent to it, or subscribed, is open. Try again.';
end
$$;

-- Every consumer is done with everything that was sent, and nothing waits for its time.
create function is_drained(queue_id int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  anything boolean;
begin
  execute format('select exists (select from message_%s)', queue_id) into anything;
  return not exists (select from open_batches(queue_id))
     and delayed_count((select q.uid from queue q where q.id = queue_id)) = 0
     and (not anything or not exists (
       select from generate_series(0, segment_count(queue_id) - 1) as ring(segment) where not segment_is_received(queue_id, segment)
     ));
end
$$;

-- schema/25_consumer_config.sql

-- Settings of consumers: what they may be, changing them, reading them; and pausing consumers and queues.

-- The options of change_consumer; subscribe has more, which stay what they are.
create function consumer_option_kinds() returns option_kind[]
language sql
immutable
return array[
  row('on_failure', 'word', 'block,skip', null, false),
  row('max_in_flight', 'integer', '1', '2147483647', true),
  row('rate_limit', 'integer', '1', '2147483647', true),
  row('rate_period', 'span', null, '1 day', false)
]::option_kind[];

-- Refuses options that a consumer with these settings, new or as it is, cannot have. what: whose options, for the message; more: what else
-- they may be.
create function check_consumer(settings consumer, options jsonb, what text, more option_kind[]) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  known constant option_kind[] := more || consumer_option_kinds();
  problems text[];
  wrong text[];
  wanted consumer;
begin
  select coalesce(array_agg(p.name), '{}'), coalesce(array_agg(p.problem), '{}') into wrong, problems from option_problems(options, what, known) p;
  -- of what has a value that it may have
  options := options - wrong;
  wanted := configured_consumer(settings, options);
  if options ->> 'mode' <> settings.mode then
    problems := problems || format('mode of consumer %s cannot be changed', quote_literal(settings.name));
  end if;
  if options ? 'on_failure' and settings.mode <> 'ordered' then
    problems := problems || 'expected on_failure for a consumer with mode "ordered" alone'::text;
  end if;
  if wanted.rate_limit > extract(epoch from wanted.rate_period) * 1000000 then
    problems := problems || format('expected rate_limit to be a message a microsecond at most, got: %s in %s', wanted.rate_limit, wanted.rate_period);
  end if;
  perform refuse_options(problems, known);
end
$$;

-- The settings of a consumer with options that were checked.
create function configured_consumer(settings consumer, options jsonb) returns consumer
language plpgsql
stable
set search_path from current
as $$
begin
  settings.on_failure := coalesce(options ->> 'on_failure', settings.on_failure);
  settings.max_in_flight := case when options ? 'max_in_flight' then (options ->> 'max_in_flight')::int else settings.max_in_flight end;
  settings.rate_limit := case when options ? 'rate_limit' then (options ->> 'rate_limit')::int else settings.rate_limit end;
  settings.rate_period := coalesce((options ->> 'rate_period')::interval, settings.rate_period);
  return settings;
end
$$;

-- Changes the options of a consumer that are named: on_failure, max_in_flight, rate_limit, rate_period; null for max_in_flight and rate_limit: none.
-- 1 changed, 0 it was like that. Counts from the next receive on. mode may be named, but stays what it is. What is wrong is said all at
-- once, and then nothing has changed.
-- Errors: PQ001 no such queue, PQ002 no such consumer, PQ004 options that cannot be.
create function change_consumer(queue text, consumer text, options jsonb) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  old consumer;
  new consumer;
begin
  if options ? 'max_in_flight' then
    perform lock_queue_functions(of_queue);
  end if;
  select c.* into old from consumer c where c.id = require_consumer(of_queue, change_consumer.consumer) for update;
  perform check_consumer(old, options, 'a consumer', array[row('mode', 'word', 'exclusive,shared,ordered', null, false)]::option_kind[]);
  new := configured_consumer(old, options);
  if new is not distinct from old then
    return 0;
  end if;
  update consumer c
     set on_failure = new.on_failure, max_in_flight = new.max_in_flight, rate_limit = new.rate_limit, rate_period = new.rate_period
   where c.id = old.id;
  if new.max_in_flight is distinct from old.max_in_flight then
    perform generate_ack(of_queue);
  end if;
  return 1;
end
$$;

-- Sets one option of a consumer: change_consumer in the shape of set_queue_config. Returns 1.
create function set_consumer_config(queue text, consumer text, param text, value text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform change_consumer(queue, consumer, jsonb_build_object(coalesce(param, 'NULL'), value));
  return 1;
end
$$;

-- The settings of the consumers of a queue, or of all: mode and every option of change_consumer, so that subscribe makes another like it and
-- change_consumer has nothing to change; on_failure of ordered ones alone. Intervals in Postgres's words, "00:00:01". paused: the consumer itself
-- is. Errors: PQ001 no such queue.
create function consumer_settings(queue text default null) returns table (
  queue_name text, consumer text, settings jsonb, paused boolean, created_at timestamptz
)
language plpgsql
stable
security definer
set search_path from current
set intervalstyle = 'postgres'
as $$
begin
  if queue is not null then
    perform require_queue(queue);
  end if;
  return query
    select q.name, c.name,
           jsonb_build_object('mode', c.mode, 'max_in_flight', c.max_in_flight, 'rate_limit', c.rate_limit, 'rate_period', c.rate_period)
             || case when c.mode = 'ordered' then jsonb_build_object('on_failure', c.on_failure) else '{}' end,
           c.paused, c.created_at
      from consumer c
      join queue q on q.id = c.queue_id
     where consumer_settings.queue is null or q.name = consumer_settings.queue
     order by q.name, c.name;
end
$$;

create function set_paused(queue text, consumer text, paused boolean) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  changed int;
begin
  if consumer is null then
    perform lock_queue_functions(of_queue);
    update queue q set paused = set_paused.paused where q.id = of_queue and q.paused <> set_paused.paused;
    get diagnostics changed = row_count;
    -- it is written into the function that receives, so that a queue that is not paused need not look
    if changed = 1 then
      perform generate_receive(of_queue);
    end if;
  else
    update consumer c set paused = set_paused.paused where c.id = require_consumer(of_queue, consumer) and c.paused <> set_paused.paused;
    get diagnostics changed = row_count;
  end if;
  if changed = 1 and not paused then
    perform wake(of_queue);
  end if;
  return changed;
end
$$;

-- Pauses a consumer, or without one the queue: until it is resumed, receives return nothing. What is in hand can be settled, sends go on, and
-- so does maintenance. 1 paused, 0 it was already.
create function pause(queue text, consumer text default null) returns int
language sql
volatile
security definer
set search_path from current
return set_paused(queue, consumer, true);

create function resume(queue text, consumer text default null) returns int
language sql
volatile
security definer
set search_path from current
return set_paused(queue, consumer, false);

-- schema/25_max_retries.sql

-- How often a message of a queue is tried again before it becomes a dead letter. For whoever may receive from it: a worker says with it what
-- became of a message that failed. Errors: PQ001 no such queue.
create function max_retries(queue text, caller caller default current_user) returns int
language plpgsql
stable
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
begin
  return (select q.max_retries from queue q where q.id = of_queue);
end
$$;

-- schema/25_queue_config.sql

-- Settings of queues: what they may be, changing them, reading them.

-- The options of create_queue and change_queue.
create function queue_option_kinds() returns option_kind[]
language sql
immutable
return array[
  row('max_retries', 'integer', '0', '32000', false),
  row('rotation_bytes', 'integer', '8192', '9223372036854775807', false),
  row('rotation_period', 'span', null, '100 years', false),
  row('rotation_min_interval', 'interval', '0', '100 years', false),
  row('retention', 'interval', '0', '10 years', false),
  row('max_lag', 'span', null, '100 years', true),
  row('max_lag_action', 'word', 'warn,drop', null, false),
  row('payload_bytes_max', 'integer', '1', '1000000000', false),
  row('wake', 'boolean', null, null, false),
  row('lane_by', 'word', 'priority,key', null, true),
  row('lanes', 'integer', '1', '1024', false),
  row('lowest_first_every', 'integer', '2', '2147483647', true),
  row('expiry', 'boolean', null, null, false)
]::option_kind[];

-- Refuses options that a queue cannot be created with.
create function check_new_queue(options jsonb) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  problems text[];
begin
  -- null is the default
  options := jsonb_strip_nulls(options);
  problems := array(select p.problem from option_problems(options, 'a queue', queue_option_kinds()) p);
  if options ? 'lanes' and not options ? 'lane_by' then
    problems := problems || 'expected lanes together with lane_by'::text;
  end if;
  if options ? 'lowest_first_every' and options ->> 'lane_by' is distinct from 'priority' then
    problems := problems || 'expected lowest_first_every together with lane_by = priority'::text;
  end if;
  perform refuse_options(problems, queue_option_kinds());
end
$$;

-- Refuses options that a queue cannot be changed to.
create function check_changed_queue(settings queue, options jsonb) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  problems text[];
  wrong text[];
begin
  select coalesce(array_agg(p.name), '{}'), coalesce(array_agg(p.problem), '{}')
    into wrong, problems
    from option_problems(options, 'a queue', queue_option_kinds()) p;
  -- of what has a value that it may have, …
  options := options - wrong;
  if options ? 'lane_by' and options ->> 'lane_by' is distinct from settings.lane_by then
    problems := problems || format('lane_by of queue %s cannot be changed', quote_literal(settings.name));
  end if;
  if (options ->> 'lanes')::int < settings.lanes or (settings.lane_by is null and (options ->> 'lanes')::int > 1) then
    problems := problems || format('expected lanes of queue %s to be %s, got: %s', quote_literal(settings.name),
      case when settings.lane_by is null then '1, it was created without lane_by' else settings.lanes || ' or more' end, options ->> 'lanes');
  end if;
  if options ->> 'lowest_first_every' is not null and settings.lane_by is distinct from 'priority' then
    problems := problems || format('queue %s has no priorities, for lowest_first_every', quote_literal(settings.name));
  end if;
  -- … a message sent with an end of its life keeps it
  if settings.expiry and (options ->> 'expiry')::boolean is false then
    problems := problems || format('expiry of queue %s cannot be switched off', quote_literal(settings.name));
  end if;
  perform refuse_options(problems, queue_option_kinds());
end
$$;

-- The settings of a queue with options that were checked.
create function configured_queue(settings queue, options jsonb) returns queue
language plpgsql
stable
set search_path from current
as $$
begin
  settings.max_retries := coalesce((options ->> 'max_retries')::int, settings.max_retries);
  settings.rotation_bytes := coalesce((options ->> 'rotation_bytes')::bigint, settings.rotation_bytes);
  settings.rotation_period := coalesce((options ->> 'rotation_period')::interval, settings.rotation_period);
  settings.rotation_min_interval := coalesce((options ->> 'rotation_min_interval')::interval, settings.rotation_min_interval);
  settings.retention := coalesce((options ->> 'retention')::interval, settings.retention);
  settings.max_lag := case when options ? 'max_lag' then (options ->> 'max_lag')::interval else settings.max_lag end;
  settings.max_lag_action := coalesce(options ->> 'max_lag_action', settings.max_lag_action);
  settings.payload_bytes_max := coalesce((options ->> 'payload_bytes_max')::int, settings.payload_bytes_max);
  settings.wake := coalesce((options ->> 'wake')::boolean, settings.wake);
  settings.lane_by := coalesce(options ->> 'lane_by', settings.lane_by);
  settings.lanes := coalesce((options ->> 'lanes')::int, settings.lanes);
  settings.lowest_first_every := case when options ? 'lowest_first_every' then (options ->> 'lowest_first_every')::int else settings.lowest_first_every end;
  settings.expiry := coalesce((options ->> 'expiry')::boolean, settings.expiry);
  return settings;
end
$$;

create function store_queue(settings queue) returns void
language sql
volatile
set search_path from current
begin atomic
  update queue q
     set max_retries = settings.max_retries, rotation_bytes = settings.rotation_bytes, rotation_period = settings.rotation_period,
         rotation_min_interval = settings.rotation_min_interval, retention = settings.retention, max_lag = settings.max_lag,
         max_lag_action = settings.max_lag_action, payload_bytes_max = settings.payload_bytes_max, wake = settings.wake,
         lane_by = settings.lane_by, lanes = settings.lanes, lowest_first_every = settings.lowest_first_every, expiry = settings.expiry
   where q.id = settings.id;
end;

-- Changes the options of a queue that are named, to what create_queue takes; null for max_lag and lowest_first_every: none. 1 changed, 0 it was
-- like that. lane_by stays what it is; lanes are only added, by key when the queue is drained; expiry is not switched off again. What is wrong
-- is said all at once, and then nothing has changed.
-- Errors: PQ001 no such queue, PQ004 options that cannot be, or a queue that is in use while lanes are added, PQ005 (to add lanes) not READ COMMITTED.
create function change_queue(queue text, options jsonb) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  old queue;
  new queue;
begin
  perform lock_queue_functions(of_queue);
  select q.* into old from queue q where q.id = require_queue(change_queue.queue);
  perform check_changed_queue(old, options);
  new := configured_queue(old, options);
  if new is not distinct from old then
    return 0;
  end if;
  if new.lanes > old.lanes then
    perform add_lanes(old, new.lanes);
  end if;
  perform store_queue(new);
  -- payload_bytes_max, wake, lanes, lowest_first_every and expiry are written into them
  perform generate_functions(old.id);
  return 1;
end
$$;

-- Sets one option of a queue that exists: change_queue in PgQue's shape. The options of PgQue's ticker are accepted and do nothing: there are
-- no ticks. Returns 1.
create function set_queue_config(queue text, param text, value text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  if param in ('ticker_max_count', 'ticker_max_lag', 'ticker_idle_period', 'ticker_paused') then
    perform require_queue(queue);
  else
    perform change_queue(queue, jsonb_build_object(coalesce(param, 'NULL'), value));
  end if;
  return 1;
end
$$;

-- The settings of a queue, or of all: every option of create_queue, so that create_queue makes another like it and change_queue has nothing to
-- change. Intervals in Postgres's words, "00:10:00". paused: see pause. Errors: PQ001 no such queue.
create function queue_settings(queue text default null) returns table (queue_name text, settings jsonb, paused boolean, created_at timestamptz)
language plpgsql
stable
security definer
set search_path from current
set intervalstyle = 'postgres'
as $$
begin
  if queue is not null then
    perform require_queue(queue);
  end if;
  return query
    select q.name,
           jsonb_build_object(
             'max_retries', q.max_retries, 'rotation_bytes', q.rotation_bytes, 'rotation_period', q.rotation_period,
             'rotation_min_interval', q.rotation_min_interval, 'retention', q.retention, 'max_lag', q.max_lag, 'max_lag_action', q.max_lag_action,
             'payload_bytes_max', q.payload_bytes_max, 'wake', q.wake, 'lane_by', q.lane_by, 'lowest_first_every', q.lowest_first_every,
             'expiry', q.expiry
           ) || case when q.lane_by is null then '{}' else jsonb_build_object('lanes', q.lanes) end,
           q.paused, q.created_at
      from queue q
     where queue_settings.queue is null or q.name = queue_settings.queue
     order by q.name;
end
$$;

-- schema/26_roles.sql

-- Who may call what. Three roles, which belong to the cluster and are kept when the schema is dropped:
--
--   <schema>_reader   consumes, and looks: may receive from every queue
--   <schema>_writer   produces: may send to every queue
--   <schema>_admin    both, and administers
--
-- None of them, and nobody with a grant of one queue, has a privilege on a table or a sequence: all is done by functions. What holds
-- for one queue is a privilege on the functions generated for it; send, send_batch, receive_messages and ack run with the caller's
-- rights and call those, the other functions ask for it (see 09_caller.sql).

-- The functions that are there to be called, and the privilege that their callers need; all others are for the owner of the schema alone.
-- <queue>: generated for each queue.
--   anything    send or receive
--   send, receive
--   read        receive from every queue
--   administer
create function function_privileges() returns table (function_name text, privilege text)
language sql
immutable
begin atomic
  select unnest('{version,require_queue,create_queue,backoff,wake_channel,fire_schedule}'::text[]), 'anything'
  union all
  select unnest('{send,send_batch,send_<queue>,send_batch_<queue>,insert_event}'::text[]), 'send'
  union all
  select unnest('{
    receive,receive_messages,receive_<queue>,batch_queue,extend,ack,ack_<queue>,ack_by_number,ack_strict,nack,snooze,bury,settle,finish_batch,event_retry,
    subscribe,unsubscribe,seek,register_consumer,unregister_consumer,
    subscribe_subconsumer,receive_coop,touch_subconsumer,unsubscribe_subconsumer,
    heartbeat,hold_session,raise_idle_flag,lower_idle_flag,has_open_senders,maintain,next_due_at,max_retries,schedule,schedules
  }'::text[]), 'receive'
  union all
  select unnest('{
    queue_status,consumer_status,segment_status,worker_status,maintenance_status,lost_batches,status,get_queue_info,get_consumer_info,queue_names,dlq_inspect,
    queue_settings,consumer_settings,peek,follow,find_message,dead_letters,
    maintain_all,maint,maint_retry_events,ticker,force_tick,force_next_tick
  }'::text[]), 'read'
  union all
  select unnest('{
    drop_queue,change_queue,set_queue_config,change_consumer,set_consumer_config,pause,resume,purge,deliver_delayed,unschedule,redrive,purge_dead_letters,dlq_replay,dlq_replay_all,dlq_purge,
    grant_queue,revoke_queue
  }'::text[]), 'administer';
end;

-- The privileges of a role of the schema: reader, writer or admin.
create function role_privileges(kind text) returns text[]
language sql
immutable
return case kind
  when 'reader' then '{anything,receive,read}'::text[]
  when 'writer' then '{anything,send}'
  when 'admin' then '{anything,send,receive,read,administer}'
end;

-- The name of a role of the schema; longer than a name can be if that of the schema is.
create function schema_role(kind text) returns text
language sql
stable
set search_path from current
return current_schema() || '_' || kind;

-- The functions that need one of these privileges, for a GRANT: those of one queue, or those of no queue.
create function routines(privileges text[], queue_id int default null) returns text
language sql
stable
set search_path from current
begin atomic
  select string_agg(p.oid::regprocedure::text, ', ')
    from function_privileges() f
    join pg_namespace n on n.nspname = current_schema()
    join pg_proc p on p.pronamespace = n.oid and p.proname = replace(f.function_name, '<queue>', coalesce(routines.queue_id::text, '<queue>'))
   where f.privilege = any (routines.privileges)
     and (f.function_name like '%<queue>') = (routines.queue_id is not null);
end;

-- The roles of the schema that have been given their privileges: all three, or none.
create function granted_roles() returns table (kind text, role_name text)
language sql
stable
set search_path from current
begin atomic
  select k.kind, r.rolname::text
    from unnest('{reader,writer,admin}'::text[]) as k(kind)
    join pg_roles r on r.rolname::text = schema_role(k.kind)
   where exists (
     select from pg_namespace n, aclexplode(n.nspacl) g
      where n.nspname = current_schema() and g.grantee = r.oid and g.privilege_type = 'USAGE'
   );
end;

-- Gives the roles their privileges on the functions of one queue, or on those of no queue. Nothing is given to roles that create_roles has
-- not dealt with: another database of the cluster may have made them.
create function grant_to_roles(queue_id int default null) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  granted record;
begin
  for granted in select g.role_name, routines(role_privileges(g.kind), queue_id) from granted_roles() g loop
    execute format('grant execute on routine %s to %I', granted.routines, granted.role_name);
  end loop;
end
$$;

-- Creates the three roles, those that are not there yet, and gives them their privileges. Returns how many it created. The installer calls
-- it; when it may not create roles, the owner of the schema or a superuser calls it later, or again after a restore into another cluster.
create function create_roles() returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  kind text;
  role_name text;
  created int := 0;
  queue_id int;
begin
  foreach kind in array '{reader,writer,admin}'::text[] loop
    role_name := schema_role(kind);
    if octet_length(role_name) > 63 then
      raise exception using
        errcode = 'PQ004',
        message = format('expected the schema''s name to have at most 56 bytes, for its roles to have a name, got: %s (%s bytes)',
          quote_literal(current_schema()), octet_length(current_schema())),
        hint = 'Grant queues to roles of your own with grant_queue, or install into a schema with a shorter name.';
    end if;
    -- not without need: who may not create roles can use those that are there
    if not exists (select from pg_roles r where r.rolname = role_name) then
      begin
        execute format('create role %I nologin', role_name);
        created := created + 1;
      exception
        when duplicate_object or unique_violation then
          -- another installer was faster
          null;
        when insufficient_privilege then
          raise exception using
            errcode = 'insufficient_privilege',
            message = format('role %s is not there, and %s may not create it', quote_ident(role_name), quote_ident(current_user)),
            hint = format('Have a superuser call create_roles(), or create %I, %I and %I and call it again.',
              schema_role('reader'), schema_role('writer'), schema_role('admin'));
      end;
    end if;
  end loop;

  perform lock_queue_functions(null);
  foreach kind in array '{reader,writer,admin}'::text[] loop
    execute format('grant usage on schema %I to %I', current_schema(), schema_role(kind));
  end loop;
  perform grant_to_roles();
  for queue_id in select q.id from queue q order by q.id loop
    perform grant_to_roles(queue_id);
  end loop;
  return created;
end
$$;

-- Keeps others from writing the functions of one queue, or of all, anew: they and a GRANT would fail over one row of the catalog.
create function lock_queue_functions(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  perform pg_advisory_xact_lock(lock_key('maintain', q.id))
     from queue q
    where lock_queue_functions.queue_id is null or q.id = lock_queue_functions.queue_id;
end
$$;

-- The roles in one line, and whether they are there, for status().
create function roles_of_schema(out status text, out detail text)
language sql
stable
set search_path from current
begin atomic
  select case when count(*) > 0 then 'ok' else 'info' end,
         coalesce(string_agg(quote_ident(g.role_name), ', ' order by g.role_name),
           'none: the schema was installed without, the owner or a superuser may call create_roles()')
    from granted_roles() g;
end;

-- schema/27_grant_queue.sql

-- Rights to one queue, for roles that are not to have them to all.

-- Lets a role send to a queue, or receive from it: privilege is send or receive. Gives it what else it needs, which is USAGE on the schema
-- and the functions that everybody calls. To receive includes to subscribe, unsubscribe and seek, for whatever consumer of the queue.
create function grant_queue(queue text, role_name text, privilege text) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
begin
  perform check_grant(role_name, privilege), lock_queue_functions(of_queue);
  execute format('grant usage on schema %I to %I', current_schema(), role_name);
  execute format('grant execute on routine %s, %s to %I', routines(array['anything', privilege]), routines(array[privilege], of_queue), role_name);
end
$$;

-- Takes it back; with the last one, USAGE on the schema too. What the role may do as a member of others it still may.
create function revoke_queue(queue text, role_name text, privilege text) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
begin
  perform check_grant(role_name, privilege), lock_queue_functions(of_queue);
  execute format('revoke execute on routine %s from %I', routines(array[privilege], of_queue), role_name);
  if has_queue(role_name, privilege) then
    return;
  end if;
  execute format('revoke execute on routine %s from %I', routines(array[privilege]), role_name);
  if has_queue(role_name, case privilege when 'send' then 'receive' else 'send' end) then
    return;
  end if;
  execute format('revoke execute on routine %s from %I', routines('{anything}'), role_name);
  execute format('revoke usage on schema %I from %I', current_schema(), role_name);
end
$$;

-- Whether a role has a privilege on some queue by a grant of its own.
create function has_queue(role_name text, privilege text) returns boolean
language sql
stable
set search_path from current
begin atomic
  select exists (
    select from queue q
      join pg_namespace n on n.nspname = current_schema()
      join pg_proc p on p.pronamespace = n.oid and p.proname = format('%s_%s', has_queue.privilege, q.id)
     cross join lateral aclexplode(p.proacl) g
      join pg_roles r on r.oid = g.grantee and r.rolname = has_queue.role_name
  );
end;

create function check_grant(role_name text, privilege text) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if (privilege in ('send', 'receive')) is not true then
    raise exception using errcode = 'PQ004', message = format('expected the privilege to be send or receive, got: %L', privilege);
  end if;
  if not exists (select from pg_roles r where r.rolname = role_name) then
    raise exception using
      errcode = 'PQ004',
      message = format('role not found: %s', coalesce(role_name, 'NULL')),
      hint = 'Create it with CREATE ROLE; its name is given as it is, without quotes.';
  end if;
  if role_name in (schema_role('reader'), schema_role('writer'), schema_role('admin')) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected a role of your own, got: %s', role_name),
      hint = 'What the roles of the schema may do they may on every queue. Make somebody a member with GRANT.';
  end if;
end
$$;

-- schema/27_purge.sql

-- Throws away what a consumer, or without one every consumer, has not received: its messages, open batches and retries, and for the whole
-- queue what is delayed. Dead letters stay: see purge_dead_letters. Returns how many messages that were; of a transaction that is still open none.
create function purge(queue text, consumer text default null) returns bigint
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := require_queue(queue);
  reader record;
  purged bigint := 0;
begin
  perform require_read_committed('purge');
  if consumer is not null then
    perform require_consumer(of_queue, consumer);
  else
    -- first, as for whoever configures the queue: then come the locks of its subscribers
    perform lock_queue_functions(of_queue);
  end if;
  for reader in select s.consumer, s.depth from consumer_status(queue) s where purge.consumer is null or s.consumer = purge.consumer loop
    perform seek(queue, reader.consumer, 'latest');
    purged := greatest(purged, reader.depth);
  end loop;
  if consumer is null then
    purged := purged + delayed_count((select q.uid from queue q where q.id = of_queue));
    -- under a new number: what is delayed for the old one is delivered to nobody
    update queue q set uid = default where q.id = of_queue;
    perform generate_functions(of_queue);
    if not exists (select from consumer c where c.queue_id = of_queue) then
      purged := purged + truncate_all(of_queue);
    end if;
  end if;
  return purged;
end
$$;

-- Truncates every segment of a queue that nobody has subscribed to, whose messages would wait for the first who does.
create function truncate_all(queue_id int) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  messages bigint;
begin
  perform pg_advisory_xact_lock(lock_key('subscribe', queue_id));
  for segment in 0 .. segment_count(queue_id) - 1 loop
    if not lock_segment(queue_id, segment) then
      raise exception using
        errcode = 'PQ004',
        message = format('queue %s is in use', (select quote_literal(q.name) from queue q where q.id = queue_id)),
        hint = 'A transaction that has sent to it is open. Try again.';
    end if;
  end loop;
  execute format('select count(*) from message_%s', queue_id) into messages;
  for segment in 0 .. segment_count(queue_id) - 1 loop
    execute format('truncate only message_%1$s_%2$s, only batch_%1$s_%2$s, only outcome_%1$s_%2$s', queue_id, segment);
  end loop;
  return messages;
end
$$;

-- schema/28_dedupe.sql

-- Dedupe keys: of the messages that are sent to a queue with the same key within its time to live, the first is sent, and the others are
-- answered with its id.
--
-- Who sends with a key holds an advisory lock on it until the transaction ends, so the look-up sees whatever was sent with it before; there
-- is no unique constraint, whose losers would leave dead tuples, and none that could span the ring. Three tables take turns. Keys are
-- looked up in the current and the one before, and the pointer moves on only when every key in the one before has run out; so the third is
-- nobody's concern and can be truncated. A sender that finds the pointer moved after its insert inserts into the new table as well.

create table dedupe (
  segment int not null,
  -- numbers of dropped queues are given out again, these are not
  queue_uid bigint not null,
  key text not null,
  message_id bigint not null,
  expires_at timestamptz not null
) partition by list (segment);

create table dedupe_0 partition of dedupe for values in (0) with (autovacuum_enabled = off);
create table dedupe_1 partition of dedupe for values in (1) with (autovacuum_enabled = off);
create table dedupe_2 partition of dedupe for values in (2) with (autovacuum_enabled = off);
create index dedupe_by_key on dedupe (queue_uid, key);

comment on table dedupe is 'Keys with which messages were sent, until when they count, and the first message of each.';

-- Which table takes inserts, and since when: see segment_pointer.
create sequence dedupe_pointer minvalue 0;
select setval('dedupe_pointer', pointer_to(0));

-- The lock on a key of a queue is hashtextextended(key, seed).
create function dedupe_seed(queue_uid bigint) returns bigint
language sql
stable
return hashint8extended(queue_uid, lock_seed('dedupe', 0));

-- Claims the key that options name for this message. Returns null, or the id of the message that has it already.
create function claim_key(queue_uid bigint, options jsonb, message_id bigint) returns bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  wanted constant text := dedupe_key(options);
  ttl constant interval := dedupe_ttl(options);
  pointer bigint;
  first_id bigint;
begin
  perform require_read_committed('send with a dedupe_key');
  perform pg_advisory_xact_lock(hashtextextended(wanted, dedupe_seed(queue_uid)));
  pointer := pg_sequence_last_value('dedupe_pointer');
  -- by name: a look at the parent would lock the third table too, until this transaction ends
  case pointer_segment(pointer)
    when 0 then first_id := (select d.message_id from (select * from dedupe_0 union all select * from dedupe_2) d
      where d.queue_uid = claim_key.queue_uid and d.key = wanted and d.expires_at > clock_timestamp() limit 1);
    when 1 then first_id := (select d.message_id from (select * from dedupe_1 union all select * from dedupe_0) d
      where d.queue_uid = claim_key.queue_uid and d.key = wanted and d.expires_at > clock_timestamp() limit 1);
    when 2 then first_id := (select d.message_id from (select * from dedupe_2 union all select * from dedupe_1) d
      where d.queue_uid = claim_key.queue_uid and d.key = wanted and d.expires_at > clock_timestamp() limit 1);
  end case;
  if first_id is not null then
    return first_id;
  end if;
  insert into dedupe values (pointer_segment(pointer), claim_key.queue_uid, wanted, claim_key.message_id, clock_timestamp() + ttl);
  if pg_sequence_last_value('dedupe_pointer') <> pointer then
    insert into dedupe
    values (pointer_segment(pg_sequence_last_value('dedupe_pointer')), claim_key.queue_uid, wanted, claim_key.message_id, clock_timestamp() + ttl);
  end if;
  return null;
end
$$;

create function dedupe_key(options jsonb) returns text
language plpgsql
immutable
set search_path from current
as $$
begin
  if jsonb_typeof(options -> 'dedupe_key') <> 'string' or octet_length(options ->> 'dedupe_key') not between 1 and 1000 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected dedupe_key to be a string of 1 to 1000 bytes, got: %s', left((options -> 'dedupe_key')::text, 100)),
      hint = 'Of the messages with one key the first is sent.';
  end if;
  return options ->> 'dedupe_key';
end
$$;

-- How long a key counts: a number of seconds or an interval, up to 30 days; a day unless options say otherwise.
create function dedupe_ttl(options jsonb) returns interval
language plpgsql
immutable
set search_path from current
as $$
declare
  ttl constant interval := option_interval(options, 'dedupe_ttl', '30 days');
begin
  return coalesce(ttl, '1 day');
end
$$;

-- Moves the pointer on when every key in the table before it has run out, and truncates the table that is nobody's concern.
create function rotate_dedupe() returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  pointer bigint;
  current_table int;
  next_table int;
  over boolean;
begin
  if not pg_try_advisory_xact_lock(lock_key('dedupe', 0)) then
    return 0;
  end if;
  pointer := pg_sequence_last_value('dedupe_pointer');
  current_table := pointer_segment(pointer);
  next_table := (current_table + 1) % 3;
  if pg_relation_size(format('dedupe_%s', next_table)::regclass) > 0 then
    execute format('lock table only dedupe_%s in access exclusive mode nowait', next_table);
    execute format('truncate only dedupe_%s', next_table);
    return 1;
  end if;
  if clock_timestamp() - pointer_moved_at(pointer) < dedupe_period()
     or pg_relation_size(format('dedupe_%s', current_table)::regclass) = 0
     or is_being_truncated(format('dedupe_%s', next_table)::regclass) then
    return 0;
  end if;
  -- no key in it is uncommitted either
  execute format('lock table only dedupe_%s in share mode nowait', (current_table + 2) % 3);
  execute format('select not exists (select from dedupe_%s where expires_at > clock_timestamp())', (current_table + 2) % 3) into over;
  if over then
    perform setval('dedupe_pointer', pointer_to(next_table));
  end if;
  return over::int;
exception
  when lock_not_available then
    return 0;
end
$$;

-- A table takes keys for so long at least.
create function dedupe_period() returns interval
language sql
immutable
return interval '10 min';

-- schema/28_dedupe_batch.sql

-- Dedupe keys of a batch of messages, one each or none. As for one message, see 28_dedupe.sql; and of those in the batch with one key the
-- first is sent.

-- Claims the keys that options name for the messages with these ids. Returns an id for each: its own if it is to be sent, otherwise that of
-- the message that has its key. The keys' locks are taken in one order, so that two batches do not wait for each other. A lock each is why there may
-- be so many keys and no more: all sessions share a table of some thousands.
create function claim_keys(queue_uid bigint, options jsonb, ids bigint[]) returns bigint[]
language plpgsql
volatile
set search_path from current
as $$
#variable_conflict use_variable
declare
  wanted constant text[] := dedupe_keys(options, cardinality(ids));
  ttl constant interval := dedupe_ttl(options);
  seed constant bigint := dedupe_seed(queue_uid);
  pointer bigint;
  key_lock bigint;
  claimed record;
begin
  perform require_read_committed('send_batch with dedupe_keys');
  for key_lock in select distinct hashtextextended(w.key, seed) from unnest(wanted) as w(key) where w.key is not null order by 1 loop
    perform pg_advisory_xact_lock(key_lock);
  end loop;
  pointer := pg_sequence_last_value('dedupe_pointer');
  select * into claimed from look_up_keys(queue_uid, wanted, ids, pointer_segment(pointer));
  insert into dedupe
  select pointer_segment(pointer), queue_uid, n.key, n.id, clock_timestamp() + ttl from unnest(claimed.new_keys, claimed.new_ids) as n(key, id);
  if pg_sequence_last_value('dedupe_pointer') <> pointer then
    insert into dedupe
    select pointer_segment(pg_sequence_last_value('dedupe_pointer')), queue_uid, n.key, n.id, clock_timestamp() + ttl
      from unnest(claimed.new_keys, claimed.new_ids) as n(key, id);
  end if;
  return claimed.answers;
end
$$;

-- Looks keys up whose locks are held, in the current table and the one before, by name: see claim_key. answers: for each message the one that has its key;
-- new_keys and new_ids: keys that nobody has, and the first message of each.
create function look_up_keys(
  queue_uid bigint, wanted text[], ids bigint[], current_table int, out answers bigint[], out new_keys text[], out new_ids bigint[]
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
begin
  execute format($sql$
    with message as (
      select m.key, m.id, m.n, first_value(m.id) over (partition by m.key order by m.n) as first_id
        from unnest($2, $3) with ordinality as m(key, id, n)
    ),
    looked_up as materialized (
      select m.*, case when m.key is not null and m.id = m.first_id then (
               select d.message_id
                 from (select * from %1$I union all select * from %2$I) d
                where d.queue_uid = $1 and d.key = m.key and d.expires_at > clock_timestamp()
                limit 1
             ) end as found_id
        from message m
    ),
    answered as (
      select l.*, max(l.found_id) over (partition by l.key) as known_id from looked_up l
    )
    select array_agg(case when a.key is null then a.id else coalesce(a.known_id, a.first_id) end order by a.n),
           array_agg(a.key order by a.n) filter (where a.id = a.first_id and a.key is not null and a.known_id is null),
           array_agg(a.id order by a.n) filter (where a.id = a.first_id and a.key is not null and a.known_id is null)
      from answered a
  $sql$, 'dedupe_' || current_table, 'dedupe_' || (current_table + 2) % 3) into answers, new_keys, new_ids using queue_uid, wanted, ids;
end
$$;

-- The dedupe keys of a batch of so many messages.
create function dedupe_keys(options jsonb, messages int) returns text[]
language plpgsql
immutable
set search_path from current
as $$
declare
  keys_max constant int := 1000;
  given constant jsonb := options -> 'dedupe_keys';
  wrong jsonb;
  keys int;
begin
  if jsonb_typeof(given) <> 'array' or jsonb_array_length(given) <> messages then
    raise exception using
      errcode = 'PQ004',
      message = format('expected dedupe_keys to be an array of %s, as many as payloads, got: %s', messages, left(given::text, 100)),
      hint = 'Use null for a message without a key.';
  end if;
  select k into wrong from jsonb_array_elements(given) as k
   where k <> 'null' and (jsonb_typeof(k) <> 'string' or octet_length(k #>> '{}') not between 1 and 1000) limit 1;
  if wrong is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('expected each of dedupe_keys to be a string of 1 to 1000 bytes or null, got: %s', left(wrong::text, 100)),
      hint = 'Of the messages with one key the first is sent.';
  end if;
  select count(distinct k) into keys from jsonb_array_elements(given) as k where k <> 'null';
  if keys > keys_max then
    raise exception using
      errcode = 'PQ004',
      message = format('expected at most %s different dedupe_keys, got: %s', keys_max, keys),
      hint = 'Send in several transactions: each key holds a lock until the transaction ends.';
  end if;
  return array(select k.value from jsonb_array_elements_text(given) with ordinality as k(value, n) order by n);
end
$$;

-- schema/29_dispatch.sql

-- From a queue's name to its generated functions.
--
-- send, send_batch and receive_messages take a queue's name, and ack a batch id that holds its number. Looking it up in a table and
-- calling the queue's function by EXECUTE would halve the rate of sends. So they are generated too, as a binary search that runs no
-- query, and rewritten when a queue is created or dropped. They run with the caller's rights: who may use a queue is who may
-- execute its functions.

-- The body of a dispatcher: a binary search for the key among sorted ones, ending in call with %s for the queue's id.
create function dispatch_branches(key text, call text, keys text[], ids int[]) returns text
language plpgsql
immutable
set search_path from current
as $$
declare
  half constant int := cardinality(keys) / 2;
begin
  if cardinality(keys) <= 4 then
    return (
      select coalesce(string_agg(format('if %s = %L then %s end if;', key, q.known, format(call, q.id)), E'\n'), '')
        from unnest(keys, ids) as q(known, id)
    );
  end if;
  return format(E'if %s < %L then\n%s\nelse\n%s\nend if;', key, keys[half + 1],
    dispatch_branches(key, call, keys[:half], ids[:half]),
    dispatch_branches(key, call, keys[half + 1:], ids[half + 1:]));
end
$$;

-- Rewrites one dispatcher. head: its declaration up to the body; call: a statement that ends the function, with %s for the
-- queue's id; otherwise: what it does with a key that is not in the search.
create function generate_dispatcher(head text, key text, call text, keys text[], ids int[], otherwise text) returns void
language plpgsql
set search_path from current
-- parsing every branch here as well is two thirds of the time with a thousand queues
set check_function_bodies = off
as $generate$
begin
  execute format(E'create or replace function %s\nlanguage plpgsql\nas $dispatch$\nbegin\n%s\n%s\nend\n$dispatch$',
    head, dispatch_branches(key, call, keys, ids), otherwise);
end
$generate$;

-- Rewrites all dispatchers from the registry. A name that they do not know is looked up: its queue was created a moment ago, or
-- there is none.
create function generate_dispatchers() returns void
language plpgsql
set search_path from current
as $generate$
declare
  schema constant text := quote_ident(current_schema());
  -- in calls that pass through format() once more
  escaped constant text := replace(schema, '%', '%%');
  by_name constant text := 'queue_name collate "C"';
  names text[];
  name_ids int[];
  ids int[];
begin
  select coalesce(array_agg(q.name order by q.name collate "C"), '{}'),
         coalesce(array_agg(q.id order by q.name collate "C"), '{}'),
         coalesce(array_agg(q.id order by q.id), '{}')
    into names, name_ids, ids
    from queue q;
  perform generate_dispatcher(
    'send(queue_name text, type_name text, payload text, options jsonb default null) returns bigint',
    by_name, 'return ' || escaped || '.send_%s(type_name, payload, options);', names, name_ids,
    format($sql$
declare
  message_id bigint;
begin
  execute format('select %%s.send_%%s($1, $2, $3)', %1$L, %2$s.require_queue(queue_name)) into message_id using type_name, payload, options;
  return message_id;
end;$sql$, schema, schema));
  perform generate_dispatcher(
    'send_batch(queue_name text, type_name text, payloads text[], headers jsonb[] default null, options jsonb default null) returns bigint[]',
    by_name, 'return ' || escaped || '.send_batch_%s(type_name, payloads, headers, options);', names, name_ids,
    format($sql$
declare
  message_ids bigint[];
begin
  execute format('select %%s.send_batch_%%s($1, $2, $3, $4)', %1$L, %2$s.require_queue(queue_name)) into message_ids using type_name, payloads, headers, options;
  return message_ids;
end;$sql$, schema, schema));
  perform generate_dispatcher(
    format('receive_messages(queue text, consumer text, worker text default null, max_messages int default 100, lease interval default ''30 s'', max_bytes int default null) returns setof %s.received_message', schema),
    'queue collate "C"', 'return query select * from ' || escaped || '.receive_%s(consumer, worker, max_messages, lease, max_bytes); return;', names, name_ids,
    format('return query execute format(''select * from %%s.receive_%%s($1, $2, $3, $4, $5)'', %1$L, %2$s.require_queue(queue)) using consumer, worker, max_messages, lease, max_bytes;', schema, schema));
  perform generate_dispatcher(
    'ack(batch_id bigint) returns int',
    schema || '.batch_queue(batch_id)', 'return ' || escaped || '.ack_%s(batch_id);', ids::text[], ids,
    format('return %s.ack_by_number(batch_id);', schema));
end
$generate$;

select generate_dispatchers();

-- schema/30_send.sql

-- Sending. One generated function per queue does the work: its statements are static, so their plans are kept.

-- What send and send_batch of a queue have beside seq, id, type, payload and headers, if the queue has lanes or messages that expire.
-- columns, one, many: the columns, and their values for one message and for one of many, m. unnested, names: what else is unnested for m.
-- declared, read_one, read_many: variables, and the statements that read them from the options. later_one, later_many: the arguments
-- lanes, keys and expires_at of send_later.
create function send_parts(
  queue_id int, out columns text, out one text, out many text, out unnested text, out names text, out declared text,
  out read_one text, out read_many text, out later_one text, out later_many text
)
language plpgsql
stable
set search_path from current
as $$
declare
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  select '', '', '', '', '', '', '', '', 'null, null, ', 'null, null, '
    into columns, one, many, unnested, names, declared, read_one, read_many, later_one, later_many;
  if settings.lane_by = 'priority' then
    select 'lane, ', 'lane, ', 'lane, ', E'\n  lane int := 0;', format(E'\n    lane := send_priority(options, %s);', settings.lanes),
           'array[lane], null, ', 'array_fill(lane, array[cardinality(ids)]), null, '
      into columns, one, many, declared, read_one, later_one, later_many;
    read_many := read_one;
  elsif settings.lane_by = 'key' then
    select 'lane, key, ', format('lane_of_%s(key, message_id), key, ', queue_id), format('lane_of_%s(m.key, m.id), m.key, ', queue_id),
           ', keys', ', key', E'\n  key text;\n  keys text[];', E'\n    key := send_key(options);', E'\n    keys := send_keys(options, cardinality(ids));',
           format('array[lane_of_%s(key, message_id)], array[key], ', queue_id),
           format('array(select lane_of_%s(k.key, k.id) from unnest(keys, ids) with ordinality as k(key, id, n) order by n), keys, ', queue_id)
      into columns, one, many, unnested, names, declared, read_one, read_many, later_one, later_many;
  end if;
  if settings.expiry then
    columns := columns || 'expires_at, ';
    one := one || 'expires_at, ';
    many := many || 'expires_at, ';
    declared := declared || E'\n  expires_at timestamptz;';
    read_one := read_one || E'\n    expires_at := send_expires_at(options);';
    read_many := read_many || E'\n    expires_at := send_expires_at(options);';
    later_one := later_one || 'expires_at';
    later_many := later_many || 'expires_at';
  else
    later_one := later_one || 'null';
    later_many := later_many || 'null';
  end if;
end
$$;

-- Writes send_<queue id>: inserts one message into the segment that the pointer names and returns its id.
create function generate_send(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  insert_into constant text := $sql$
      insert into message_%1$s_%2$s (%3$sseq, id, type, payload, headers) values (%4$smessage_id, message_id, type_name, payload, headers);$sql$;
  part constant record := send_parts(queue_id);
  branches text;
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  select string_agg(format('when %2$s then ' || insert_into, queue_id, segment, part.columns, part.one), '' order by segment)
    into branches
    from generate_series(0, segment_count(queue_id) - 1) as ring(segment);

  execute format($ddl$
create or replace function send_%1$s(type_name text, payload text, options jsonb) returns bigint
language plpgsql
security definer
set search_path from current
as $send$
declare
  message_id constant bigint := nextval('message_seq_%1$s');
  first_id bigint;
  headers jsonb;
  due_at timestamptz;%6$s
begin
  -- one look for all that is rare: plpgsql sets up every expression anew in every transaction
  if type_name is null or octet_length(payload) > %3$s or options is not null or is_elsewhere() then
    perform require_home();
    if type_name is null or octet_length(payload) > %3$s then
      perform check_send(type_name, payload, %3$s);
    end if;
    if options is not null and not are_send_options(options, %10$L) then
      perform refuse_send_options(%1$s, options, %10$L);
    end if;
    headers := options -> 'headers';
    if options ?| '{delay,at}' then
      due_at := send_due_at(options);
    end if;%7$s
    if options ? 'dedupe_key' then
      first_id := claim_key(%4$s, options, message_id);
      if first_id is not null then
        return first_id;
      end if;
    end if;
    if due_at > clock_timestamp() then
      perform send_later(%4$s, due_at, array[message_id], %8$s, type_name, array[payload], array[headers]);
      return message_id;
    end if;
  end if;
  case pointer_segment(pg_sequence_last_value('segment_pointer_%1$s')) %2$s
    -- a segment younger than this function is served by the first: receivers read the whole ring
    else%9$s
  end case;
  %5$s
  return message_id;
end
$send$;
revoke all on function send_%1$s(text, text, jsonb) from public
$ddl$, queue_id, branches, settings.payload_bytes_max, settings.uid, wake_statement(queue_id), part.declared, part.read_one, part.later_one,
  format(insert_into, queue_id, 0, part.columns, part.one), known_send_options(queue_id, of_batch => false));
end
$generate$;

-- Refuses what is not a type, and payloads that are too large.
create function check_send(type_name text, payload text, bytes_max int) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if type_name is null then
    raise exception using errcode = 'PQ004', message = 'expected a message type, got: NULL', hint = 'Leave the type out for the type "default".';
  end if;
  if octet_length(payload) > bytes_max then
    raise exception using
      errcode = 'PQ004',
      message = format('payload too large: expected at most %s bytes, got: %s', bytes_max, octet_length(payload)),
      hint = 'Store it elsewhere and send a reference, or raise payload_bytes_max of the queue.';
  end if;
end
$$;

-- schema/31_send_batch.sql

-- Writes send_batch_<queue id>: inserts many messages in one statement and returns their ids in the order of the payloads. With dedupe_keys those
-- whose key has been used are left out, and answered with the id of the first.
create function generate_send_batch(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  insert_into constant text := $sql$
      insert into message_%1$s_%2$s (%3$sseq, id, type, payload, headers)
      select %4$sm.id, m.id, type_name, m.payload, m.headers from unnest(ids, payloads, headers%5$s) as m(id, payload, headers%6$s);$sql$;
  part constant record := send_parts(queue_id);
  branches text;
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  select string_agg(format('when %2$s then ' || insert_into, queue_id, segment, part.columns, part.many, part.unnested, part.names), '' order by segment)
    into branches
    from generate_series(0, segment_count(queue_id) - 1) as ring(segment);

  execute format($ddl$
create or replace function send_batch_%1$s(type_name text, payloads text[], headers jsonb[], options jsonb) returns bigint[]
language plpgsql
security definer
set search_path from current
as $send$
declare
  ids bigint[];
  answers bigint[];
  bytes int;
  due_at timestamptz;%6$s
begin
  if payloads is null or array_ndims(payloads) > 1 or headers is not null or is_elsewhere() then
    perform require_home();
    perform check_send_batch(payloads, headers);
  end if;
  select coalesce(array_agg(nextval('message_seq_%1$s')), '{}'), max(octet_length(payload)) into ids, bytes from unnest(payloads) as payload;
  if type_name is null or bytes > %3$s then
    perform check_send(type_name, (select payload from unnest(payloads) as payload where octet_length(payload) > %3$s limit 1), %3$s);
  end if;
  if options is not null then
    if not are_send_options(options, %10$L) then
      perform refuse_send_options(%1$s, options, %10$L);
    end if;
    due_at := send_due_at(options);%7$s
    if options ? 'dedupe_keys' then
      answers := claim_keys(%4$s, options, ids);
      select array_agg(m.id order by m.n), array_agg(m.payload order by m.n), array_agg(m.headers order by m.n)%11$s
        into ids, payloads, headers%12$s
        from unnest(ids, answers, payloads, headers%12$s) with ordinality as m(id, answer, payload, headers%13$s, n)
       where m.answer = m.id;
      if ids is null then
        return coalesce(answers, '{}');
      end if;
    end if;
    if due_at > clock_timestamp() then
      perform send_later(%4$s, due_at, ids, %8$s, type_name, payloads, headers);
      return coalesce(answers, ids);
    end if;
  end if;
  case pointer_segment(pg_sequence_last_value('segment_pointer_%1$s')) %2$s
    else%9$s
  end case;
  %5$s
  return coalesce(answers, ids);
end
$send$;
revoke all on function send_batch_%1$s(text, text[], jsonb[], jsonb) from public
$ddl$, queue_id, branches, settings.payload_bytes_max, settings.uid, wake_statement(queue_id),
  part.declared, part.read_many, part.later_many, format(insert_into, queue_id, 0, part.columns, part.many, part.unnested, part.names),
  known_send_options(queue_id, of_batch => true),
  case when part.names <> '' then ', array_agg(m.key order by m.n)' else '' end, part.unnested, part.names);
end
$generate$;

create function check_send_batch(payloads text[], headers jsonb[]) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if payloads is null or array_ndims(payloads) > 1 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected payloads to be an array of one dimension, got: %s', coalesce(array_dims(payloads), 'NULL')),
      hint = 'An empty array sends nothing.';
  end if;
  if headers is not null and cardinality(headers) <> cardinality(payloads) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many headers as payloads (%s), got: %s', cardinality(payloads), cardinality(headers)),
      hint = 'Use NULL for a message without headers.';
  end if;
  if exists (select from unnest(headers) as h where jsonb_typeof(h) <> 'object') then
    raise exception using errcode = 'PQ004', message = 'expected every header set to be a JSON object or NULL';
  end if;
end
$$;

-- schema/32_send_names.sql

-- The other shapes of send and send_batch. An untyped literal picks text, which is stored verbatim; jsonb is stored in its
-- canonical text.
create function send(queue_name text, type_name text, payload jsonb, options jsonb default null) returns bigint
language sql
return send(queue_name, type_name, payload::text, options);

create function send(queue_name text, payload text) returns bigint
language sql
return send(queue_name, 'default', payload, null);

create function send(queue_name text, payload jsonb) returns bigint
language sql
return send(queue_name, 'default', payload::text, null);

create function send_batch(queue_name text, type_name text, payloads jsonb[], headers jsonb[] default null, options jsonb default null)
returns bigint[]
language sql
return send_batch(queue_name, type_name, payloads::text[], headers, options);

create function send_batch(queue_name text, payloads text[]) returns bigint[]
language sql
return send_batch(queue_name, 'default', payloads, null);

create function send_batch(queue_name text, payloads jsonb[]) returns bigint[]
language sql
return send_batch(queue_name, 'default', payloads::text[], null);

-- schema/33_wake.sql

-- Waking idle workers. A NOTIFY in every sender's transaction would take a lock of the whole cluster at every commit, so senders
-- notify only when somebody sleeps:
--
--   A worker that is about to sleep raises the idle flag of its queue, a shared advisory lock on the connection on which it listens.
--   A sender inserts first, then tries the same lock exclusively and lets it go. It got it: nobody sleeps. It did not: NOTIFY.
--
-- The try and the release are one expression: between two statements a cancel would leave the lock behind. No wake-up is lost: a sender
-- that tried before the flag was up has already inserted, and holds ROW EXCLUSIVE on a message table until it ends. So a worker raises
-- the flag, then asks has_open_senders, then receives; it may sleep when the answer was no and nothing came. (The list of running
-- transactions in a snapshot would not do: those that began after it are not in it.)

-- The channel that a queue's workers listen on.
create function wake_channel(queue text) returns text
language sql
immutable
return 'pgque_' || queue;

-- Notifies the workers of a queue.
create function notify_workers(queue_id int) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform pg_notify(wake_channel((select q.name from queue q where q.id = queue_id)), '');
end
$$;

-- The statement with which a sender of a queue wakes its workers; empty for a queue with wake = false, whose senders may prepare their
-- transactions.
create function wake_statement(queue_id int) returns text
language plpgsql
stable
set search_path from current
as $$
begin
  if not (select q.wake from queue q where q.id = queue_id) then
    return '';
  end if;
  return format('if (case when pg_try_advisory_lock(%1$s) then not pg_advisory_unlock(%1$s) else true end) then perform notify_workers(%2$s); end if;',
    lock_key('idle', queue_id), queue_id);
end
$$;

-- The same for whoever inserts messages outside of send.
create function wake(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if (select q.wake from queue q where q.id = queue_id)
     and (case when pg_try_advisory_lock(lock_key('idle', queue_id)) then not pg_advisory_unlock(lock_key('idle', queue_id)) else true end) then
    perform notify_workers(queue_id);
  end if;
end
$$;

-- Raises the idle flag of a queue for this session, which must not send. False: a sender is just looking at it, try again.
create function raise_idle_flag(queue text, caller caller default current_user) returns boolean
language sql
volatile
security definer
set search_path from current
return pg_try_advisory_lock_shared(lock_key('idle', receivable_queue(caller, queue)));

-- Takes it down again. False, with a warning of Postgres: it was not up.
create function lower_idle_flag(queue text, caller caller default current_user) returns boolean
language sql
volatile
security definer
set search_path from current
return pg_advisory_unlock_shared(lock_key('idle', receivable_queue(caller, queue)));

-- Whether somebody has inserted messages into a queue and not ended the transaction: it may have found no flag up.
create function has_open_senders(queue text, caller caller default current_user) returns boolean
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  messages constant regclass := format('message_%s', receivable_queue(caller, queue))::regclass;
begin
  return exists (
    select from pg_locks l
      join pg_inherits i on i.inhrelid = l.relation and i.inhparent = messages
     where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.granted
       and l.pid is distinct from pg_backend_pid()
       and l.database = (select d.oid from pg_database d where d.datname = current_database())
  );
end
$$;

-- schema/34_schedule.sql

-- Schedules: messages that are sent again and again, at the times that a cron expression names.
--
-- Which times these are is the worker's business: the expression and the time zone are only stored here. A worker reads schedules(), works
-- out what is due and calls fire_schedule(name, time), see 35_firing.sql; of all who do, one sends the message.

-- Changed only by people, so its UPDATEs and DELETEs do not matter.
create table schedule (
  -- firings are known by it, so a schedule that is made anew does not fire again for the same time
  name text primary key check (octet_length(name) between 1 and 57),
  queue_id int not null references queue on delete cascade,
  cron text not null check (octet_length(cron) <= 200 and cron ~ '\S'),
  time_zone text not null,
  type text not null,
  payload text,
  -- what every firing is sent with beside its own headers: headers, priority, key
  send_options jsonb not null,
  -- how many of the times that were missed are made good
  missed int not null check (missed between 0 and 1440),
  enabled boolean not null,
  created_at timestamptz not null default now(),
  -- since when it is as it is: what came before has not been missed
  changed_at timestamptz not null default now()
);

create index schedule_of_queue on schedule (queue_id);

comment on table schedule is 'Messages that are sent at the times that a cron expression names.';

-- Options of a schedule, checked as far as they can be without its queue.
create function check_schedule_options(options jsonb) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  known constant text[] := '{time_zone,type,missed,enabled,headers,priority,key}';
  unknown text;
  wrong text;
begin
  if jsonb_typeof(options) is distinct from 'object' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected the options of a schedule to be a JSON object, got: %s', coalesce(left(options::text, 100), 'NULL'));
  end if;
  select string_agg(quote_literal(o.key), ', ') into unknown from jsonb_object_keys(options) as o(key) where o.key <> all (known);
  if unknown is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('unknown option of a schedule: %s', unknown),
      hint = format('Known options: %s.', array_to_string(known, ', '));
  end if;
  select format('expected %s to be a %s, got: %s', o.key, w.type, left(o.value::text, 100))
    into wrong
    from jsonb_each(options) as o
    join (values ('time_zone', 'string'), ('type', 'string'), ('missed', 'number'), ('enabled', 'boolean')) as w(key, type) using (key)
   where jsonb_typeof(o.value) <> w.type
   limit 1;
  if wrong is not null then
    raise exception using errcode = 'PQ004', message = wrong, hint = 'Leave the option out for its default.';
  end if;
  if (options ->> 'missed')::numeric not in (select generate_series(0, 1440)) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected missed to be an integer from 0 to 1440, got: %s', options ->> 'missed'),
      hint = 'So many of the times that nobody fired are made good, the latest of them: 0 none, 1 the last one. 1440 are the minutes of a day.';
  end if;
  if not exists (select from pg_timezone_names z where z.name = coalesce(options ->> 'time_zone', 'UTC')) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected time_zone to be one that the server knows, got: %s', left(options ->> 'time_zone', 100)),
      hint = 'A name such as "Europe/Berlin", written as in pg_timezone_names.';
  end if;
end
$$;

create function check_cron(cron text) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if cron is null or octet_length(cron) > 200 or cron !~ '\S' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected cron to be an expression of 1 to 200 bytes, got: %s', coalesce(quote_literal(left(cron, 80)), 'NULL')),
      hint = 'For example ''0 3 * * *'' for three o''clock each night. Whoever fires the schedule reads it.';
  end if;
end
$$;

-- Creates a schedule, or makes the one of that name what is asked for; 1: it is new or has changed, 0: it was just like that, and to learn
-- that nobody needs to be an administrator who may receive from the queue: workers declare schedules at every start.
-- The payload is sent verbatim with every firing. Options: time_zone (default UTC, a name of pg_timezone_names), type (default "default"),
-- headers, priority, key (as in send; default none), missed (how many of the times that nobody fired because no worker ran are made good, the
-- latest of them; default 1) and enabled. What is left out takes its default, but enabled stays what it was: who declares schedules at
-- every start does not undo what was switched off. Errors: PQ001 no such queue, PQ004 an argument out of range.
create function schedule(
  name text,
  queue text,
  cron text,
  payload text default null,
  options jsonb default '{}',
  caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_variable
declare
  wanted schedule;
  existing schedule;
begin
  perform check_name('schedule', name);
  perform check_cron(cron);
  perform check_schedule_options(options);
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  select * into existing from schedule s where s.name = name;
  wanted.name := name;
  wanted.queue_id := receivable_queue(caller, queue);
  wanted.cron := cron;
  wanted.time_zone := coalesce(options ->> 'time_zone', 'UTC');
  wanted.type := coalesce(options ->> 'type', 'default');
  wanted.payload := payload;
  wanted.send_options := options - '{time_zone,type,missed,enabled}'::text[];
  wanted.missed := coalesce((options ->> 'missed')::int, 1);
  wanted.enabled := coalesce((options ->> 'enabled')::boolean, existing.enabled, true);
  wanted.created_at := existing.created_at;
  wanted.changed_at := existing.changed_at;
  perform check_scheduled_send(wanted);
  if wanted is not distinct from existing then
    return 0;
  end if;
  perform require_admin(caller);
  wanted.created_at := coalesce(existing.created_at, now());
  wanted.changed_at := now();
  insert into schedule
  select wanted.*
  on conflict on constraint schedule_pkey do update
     set queue_id = excluded.queue_id, cron = excluded.cron, time_zone = excluded.time_zone, type = excluded.type, payload = excluded.payload,
         send_options = excluded.send_options, missed = excluded.missed, enabled = excluded.enabled, changed_at = excluded.changed_at;
  return 1;
end
$$;

create function schedule(
  name text,
  queue text,
  cron text,
  payload jsonb,
  options jsonb default '{}',
  caller caller default current_user
) returns int
language sql
return schedule(name, queue, cron, payload::text, options, caller);

-- Refuses a schedule whose message could not be sent.
create function check_scheduled_send(wanted schedule) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  settings queue;
  known text[];
begin
  select * into settings from queue q where q.id = wanted.queue_id;
  perform check_send(wanted.type, wanted.payload, settings.payload_bytes_max);
  -- what a firing sends is sent at once, and once as it is
  known := array(
    select k from unnest(known_send_options(wanted.queue_id, of_batch => false)) as k where k <> all ('{delay,at,dedupe_key,dedupe_ttl}')
  );
  if not are_send_options(wanted.send_options, known) then
    perform refuse_send_options(wanted.queue_id, wanted.send_options, known);
  end if;
  perform send_priority(wanted.send_options, settings.lanes), send_key(wanted.send_options);
end
$$;

-- Removes a schedule. 1 removed, 0 there was none. What it has sent stays. Dropping its queue removes it, too.
create function unschedule(name text) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  delete from schedule s where s.name = unschedule.name;
  return found::int;
end
$$;

-- schema/35_firing.sql

-- Firing: sending the message of a schedule for one of its times, once, however many workers ask for it.
--
-- A firing is an INSERT that is unique in (schedule, time), in the transaction that sends the message. A unique constraint does not span
-- a ring of tables, so the time itself says which of the four it goes into: its day, modulo four. Two calls for one time always meet in
-- one table, nothing has to be moved on, and no rotation comes between them. Three of the tables are in use: today's, yesterday's, and
-- tomorrow's shortly before midnight. The fourth rests and is truncated (62_rotate_firings.sql).
create table firing (
  segment int not null,
  -- by name: a firing outlives its schedule
  schedule text not null,
  fire_at timestamptz not null,
  fired_at timestamptz not null default clock_timestamp(),
  primary key (schedule, fire_at, segment)
) partition by list (segment);

create table firing_0 partition of firing for values in (0) with (autovacuum_enabled = off);
create table firing_1 partition of firing for values in (1) with (autovacuum_enabled = off);
create table firing_2 partition of firing for values in (2) with (autovacuum_enabled = off);
create table firing_3 partition of firing for values in (3) with (autovacuum_enabled = off);

comment on table firing is 'The times for which schedules have been fired.';

-- For so long a firing is remembered, and so long ago may be what is fired now.
create function firing_memory() returns interval
language sql
immutable
return interval '1 day';

-- Which of the four tables a time belongs to.
create function firing_segment(fire_at timestamptz) returns int
language sql
immutable
set search_path from current
return (floor(extract(epoch from fire_at) / extract(epoch from firing_memory()))::bigint % 4)::int;

create function check_fire_at(fire_at timestamptz) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if fire_at is null or fire_at <> date_trunc('second', fire_at) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected fire_at to be a whole second, got: %s', coalesce(fire_at::text, 'NULL')),
      hint = 'It is the time that the cron expression names, the same for every worker, not the time of the call.';
  end if;
  if fire_at < clock_timestamp() - firing_memory() then
    raise exception using
      errcode = 'PQ004',
      message = format('expected fire_at to be at most %s ago, got: %s', firing_memory(), fire_at),
      hint = 'Nobody remembers whether that was fired. If it is to be made up for, send its message.';
  end if;
  if fire_at > clock_timestamp() + interval '1 min' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected fire_at to have come, got: %s', fire_at),
      hint = format('The server''s clock says %s, and a minute ahead of it is allowed.', clock_timestamp());
  end if;
end
$$;

-- Sends the message of a schedule for one of its times, and returns its id. For whoever may send to its queue or receive from it. NULL: it has been fired for that time, or is disabled. Waits
-- for the transaction of whoever is just firing it, and does it in its stead if that rolls back. Any isolation level.
-- The message has the headers "schedule", the name, and "fire_at", the time in UTC, beside those of the schedule.
-- fire_at: a whole second, at most a day ago (firing_memory) and a minute ahead. What was missed while no worker ran is fired by calling this
-- with the time of it; schedules() says when the last one was. Errors: PQ004 no such schedule, or a time out of range.
create function fire_schedule(name text, fire_at timestamptz, caller caller default current_user) returns bigint
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  fired schedule;
begin
  perform check_fire_at(fire_at);
  select * into fired from schedule s where s.name = fire_schedule.name;
  if fired.name is null then
    raise exception using
      errcode = 'PQ004',
      message = format('schedule not found: %s', coalesce(quote_literal(name), 'NULL')),
      hint = 'Create it with schedule(name, queue, cron).';
  end if;
  perform require_use(caller, fired.queue_id);
  if not fired.enabled or not record_firing(name, fire_at) then
    return null;
  end if;
  return send(
    (select q.name from queue q where q.id = fired.queue_id),
    fired.type,
    fired.payload,
    fired.send_options || jsonb_build_object('headers', coalesce(fired.send_options -> 'headers', '{}') || jsonb_build_object(
      'schedule', name,
      'fire_at', to_char(fire_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
  );
end
$$;

create function firing_key(schedule text, fire_at timestamptz) returns bigint
language sql
stable
set search_path from current
return hashtextextended(extract(epoch from fire_at)::bigint || '/' || schedule, lock_seed('firing', 0));

-- Records a firing; false: it is recorded already.
--
-- The advisory lock lets one at a time look and insert: a loser inserts nothing, where ON CONFLICT would count its row as deleted. Only one
-- whose snapshot is older than the other's commit runs into the constraint. The table's lock keeps truncation off, and the time is judged
-- under it: a firing that is young enough now has not been truncated away.
create function record_firing(schedule text, fire_at timestamptz) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  segment constant int := firing_segment(fire_at);
  recorded boolean;
begin
  perform pg_advisory_xact_lock(firing_key(schedule, fire_at));
  execute format('lock table only firing_%s in row exclusive mode', segment);
  perform check_fire_at(fire_at);
  execute format('select exists (select from firing_%s f where f.schedule = $1 and f.fire_at = $2)', segment) into recorded using schedule, fire_at;
  if recorded then
    return false;
  end if;
  execute format('insert into firing_%1$s (segment, schedule, fire_at) values (%1$s, $1, $2)', segment) using schedule, fire_at;
  return true;
exception
  when unique_violation then
    return false;
end
$$;

-- Schedules, by name, of one queue or of all that the caller may receive from. payload, type and options are what a firing sends.
-- last_fired_at: the latest time for which it was fired, null: never. What came after it, and after changed_at, has been missed; of that the
-- latest `missed` times are to be fired by whoever finds them, besides those that have just come.
create function schedules(queue text default null, caller caller default current_user) returns table (
  name text,
  queue_name text,
  cron text,
  time_zone text,
  type text,
  payload text,
  options jsonb,
  missed int,
  enabled boolean,
  created_at timestamptz,
  changed_at timestamptz,
  last_fired_at timestamptz
)
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  if queue is not null then
    perform receivable_queue(caller, queue);
  end if;
  return query
    select s.name, q.name, s.cron, s.time_zone, s.type, s.payload, s.send_options, s.missed, s.enabled, s.created_at, s.changed_at,
           (select max(f.fire_at) from firing f where f.schedule = s.name)
      from schedule s
      join queue q on q.id = s.queue_id
     where (schedules.queue is null or q.name = schedules.queue)
       and has_function_privilege(caller, to_regprocedure(format('ack_%s(bigint)', q.id)), 'execute')
     order by s.name;
end
$$;

-- schema/36_receive_source.sql

-- What a receive reads: the parts of its statement that say which messages, in which order, from which tables. 40_receive.sql says how a
-- cursor works.

-- What the main part of a window is read after, (txid, seq): the position of a cursor, or the end of the earlier snapshot while the position is
-- still among the late messages. position: what has last_txid and last_seq.
create function main_part_after("position" text, prev text) returns text
language sql
immutable
return format(
  '(case when %1$s.last_txid < pg_snapshot_xmax(%2$s) then pg_snapshot_xmax(%2$s) else %1$s.last_txid end, '
    || 'case when %1$s.last_txid < pg_snapshot_xmax(%2$s) then -1 else %1$s.last_seq end)', "position", prev);

-- The messages of the main part of the window, before a txid. Every segment of the ring has a scan of its own, which is made ready anew for each
-- receive: so the bounds are variables, not expressions, and all columns are taken, as they lie in the table: both are most of what that costs.
create function messages_of_window(source text, lane text, before text, condition text) returns text
language sql
immutable
return format($sql$
  (
    select m.*
      from %1$s
       and m.lane = %3$s
       and (m.txid, m.seq) > (after_txid, after_seq)
       and m.txid < %2$s
       and pg_visible_in_snapshot(m.txid, position.next_snapshot)
       and (m.consumer_id is null or m.consumer_id = reader)%4$s
     order by m.lane, m.txid, m.seq
     limit max_messages
  )
$sql$, source, before, lane, condition);

-- The condition that a message has not expired, for a queue whose messages may.
create function not_expired(queue_id int) returns text
language sql
stable
set search_path from current
return case when (select q.expiry from queue q where q.id = queue_id) then ' and (m.expires_at is null or m.expires_at > started)' else '' end;

-- Where a page of a lane is read from.
--   window  the whole ring. Most windows have no late messages, and to start the scans for them is what costs.
--   late    the whole ring, and first the messages of transactions that were open when prev_snapshot was taken
--   part    the segments of part.part, before part.before: see 39_window_segments.sql
create function page_source(queue_id int, lane text, kind text) returns text
language plpgsql
set search_path from current
as $generate$
declare
  window_messages constant text := messages_of_window(format('message_%s m where true', queue_id), lane, 'before_txid', not_expired(queue_id));
begin
  if kind = 'window' then
    return window_messages;
  elsif kind = 'late' then
    return format($sql$
  select page.*
    from (
  (
    select m.*
      from pg_snapshot_xip(position.prev_snapshot) as late(txid)
     cross join lateral (
       select m.*
         from message_%1$s m
        where m.lane = %2$s
          and m.txid = late.txid
          and (m.txid, m.seq) > (position.last_txid, position.last_seq)
          and (m.consumer_id is null or m.consumer_id = reader)%3$s
        order by m.lane, m.txid, m.seq
        limit max_messages
     ) m
     where late.txid >= position.last_txid
       and pg_visible_in_snapshot(late.txid, position.next_snapshot)
     limit max_messages
  )
  union all
$sql$, queue_id, lane, not_expired(queue_id)) || window_messages || ') page limit max_messages';
  end if;
  -- a segment that is not in the part is not even opened. The order across segments has to be made: a union is not read in order
  return format('select m.* from (%s) m order by m.txid, m.seq limit max_messages', (
    select string_agg(messages_of_window(format('only message_%1$s_%2$s m where %2$s = any (part.part)', queue_id, segment), lane, 'part.before', not_expired(queue_id)), ' union all ')
      from generate_series(0, segment_count(queue_id) - 1) as ring(segment)
  ));
end
$generate$;

-- The statement that counts what has expired in all that is left of a window; none for a queue whose messages do not.
create function count_expired(queue_id int, lane text) returns text
language plpgsql
stable
set search_path from current
as $generate$
begin
  if not_expired(queue_id) = '' then
    return '';
  end if;
  return format('expired := expired + %s;', expired_between(queue_id, lane, 'pg_snapshot_xmax(position.next_snapshot)', '0'));
end
$generate$;

-- How many messages were passed over on the way from the cursor's position to another because they had expired. Without another condition
-- on txid beside the upper bound: see 43_batch_messages.sql.
create function expired_between(queue_id int, lane text, txid text, seq text) returns text
language sql
immutable
return format($sql$(
               select count(*)
                 from (
                   select m.*
                     from pg_snapshot_xip(position.prev_snapshot) as late(txid)
                    cross join lateral (
                      select * from message_%1$s m
                       where m.lane = %2$s and m.txid = late.txid
                         and m.seq > case when late.txid = position.last_txid then position.last_seq else -1 end
                         and m.seq <= case when late.txid = %3$s then %4$s else 9223372036854775807 end
                    ) m
                    where late.txid >= position.last_txid and late.txid <= %3$s and pg_visible_in_snapshot(late.txid, position.next_snapshot)
                   union all
                   select *
                     from message_%1$s m
                    where m.lane = %2$s
                      and (m.txid, m.seq) > %5$s
                      and (m.txid, m.seq) <= (%3$s, %4$s)
                      and pg_visible_in_snapshot(m.txid, position.next_snapshot)
                 ) m
                where m.expires_at <= started and (m.consumer_id is null or m.consumer_id = reader)
             )$sql$, queue_id, lane, txid, seq, main_part_after('position', 'position.prev_snapshot'));

-- schema/37_receive_page.sql

-- A page: so many messages of a window that are handed out together, and the batch row that says so.

-- How many of these payloads are handed out together: up to the one with which they have max_bytes. So one of any size is, and whoever adds
-- up what it was given knows whether there was more.
create function messages_within(sizes int[], max_bytes int) returns int
language plpgsql
immutable
set search_path from current
as $$
declare
  size int;
  messages int := 0;
  bytes bigint := 0;
begin
  foreach size in array sizes loop
    messages := messages + 1;
    bytes := bytes + size;
    exit when bytes >= max_bytes;
  end loop;
  return messages;
end
$$;

-- The statement that reads one page of a window, appends the batch row and returns the messages.
create function receive_page(queue_id int, lane text, kind text) returns text
language plpgsql
set search_path from current
as $generate$
declare
  lane_by constant text := (select q.lane_by from queue q where q.id = queue_id);
  is_last_page constant text := 'p.seen < max_messages and p.messages = p.seen' || case when kind = 'part' then ' and not part.more' else '' end;
begin
  return format($sql$
    return query
    with window_messages as materialized (
      %2$s
    ),
    picked as (
      select array_agg(w.txid) as txids, array_agg(w.seq) as seqs, count(*)::int as seen,
             -- the length of a payload is known without reading it
             case
               when max_bytes is null or coalesce(sum(octet_length(w.payload)), 0) < max_bytes then count(*)::int
               else messages_within(array_agg(coalesce(octet_length(w.payload), 0)), max_bytes)
             end as messages
        from window_messages w
      having count(*) > 0
    ),
    new_batch as (
      insert into batch_%1$s (
        segment, consumer_id, lane, n, id, prev_snapshot, next_snapshot, window_n, window_segments, window_mins, window_maxs,
        first_txid, first_seq, last_txid, last_seq, messages, expired, exhausted, settled_before, still_open, worker, created_at, lease_until,
        rate_until
      )
      select current_segment, reader, %4$s, position.n + 1,
             make_batch_id(nextval('batch_seq_%1$s'), %1$s, current_segment),
             -- a window is stored once per segment, its further batches refer to it
             case when not keeps_window then position.prev_snapshot end,
             case when not keeps_window then position.next_snapshot end,
             case when keeps_window then position.window_n else position.n + 1 end,
             case when not keeps_window then position.window_segments end,
             case when not keeps_window then position.window_mins end,
             case when not keeps_window then position.window_maxs end,
             p.txids[1], p.seqs[1], p.txids[p.messages], p.seqs[p.messages], p.messages, %6$s, %3$s,
             -- what had expired when the batch was made is not in it, however often it is read again: judged by created_at
             (l.line).settled_before, (l.line).still_open, receive_%1$s.worker, started, clock_timestamp() + lease,
             rate_from + p.messages * rate_step
        from picked p,
             -- offset 0: evaluated once
             (
               select case when position.n %% 64 = 0
                        then move_settled_line(%1$s, reader, %4$s, position.n, (position.settled_before, position.still_open)::settled_line)
                        else (position.settled_before, position.still_open)::settled_line
                      end as line
               offset 0
             ) l
      returning id, lease_until
    )
    select b.id, m.id, m.attempt::int, m.type, m.payload, m.headers, m.created_at, b.lease_until, %5$s, m.key
      from (select * from window_messages limit (select p.messages from picked p)) m
     cross join new_batch b;
$sql$, queue_id, page_source(queue_id, lane, kind), is_last_page, lane,
    case lane_by when 'priority' then lane else 'null::int' end,
    case when not_expired(queue_id) = '' then 'position.expired' else 'position.expired + expired + ' || expired_between(queue_id, lane,
      format('case when %s then pg_snapshot_xmax(position.next_snapshot) else p.txids[p.messages] end', is_last_page),
      format('case when %s then 0 else p.seqs[p.messages] end', is_last_page)) end);
end
$generate$;

-- The statements that read a window part by part, and return from the function with the first page that has something; empty for a ring
-- that is not worth it.
create function receive_parts(queue_id int, lane text) returns text
language plpgsql
set search_path from current
as $generate$
begin
  if segment_count(queue_id) <= segments_looked_into() then
    return '';
  end if;
  return format($parts$
    if attempt_no = 1 and not is_among_late then
      if position.window_segments is null then
        select w.segments, w.mins, w.maxs into position.window_segments, position.window_mins, position.window_maxs
          from find_window_segments(%1$s, %4$s, position.prev_snapshot, position.next_snapshot) w;
        -- stored again, with what was found out
        keeps_window := false;
      end if;
      from_txid := position.last_txid;
      loop
        select * into part from window_part(position.window_segments, position.window_mins, position.window_maxs, from_txid);
        -- a segment younger than this function: this once, look into all
        exit when part.before is null or not part.part <@ %3$L::int[];
        %2$s
        if found then
          return;
        end if;
        from_txid := part.before;
      end loop;
      if part.before is null then
        %5$s
        continue;
      end if;
    end if;
$parts$, queue_id, receive_page(queue_id, lane, 'part'), array(select generate_series(0, segment_count(queue_id) - 1)), lane, count_expired(queue_id, lane));
end
$generate$;

-- schema/38_cursors.sql

-- Where consumers have got to, one row for each lane: the window, and the position in it. What receive reads for itself, for whoever else
-- looks. $1: one consumer's number; null: all that the queue has.
create function cursors_query(queue_id int) returns text
language sql
immutable
return format($sql$
    select c.id as consumer_id, b.lane, b.n, b.segment, coalesce(b.prev_snapshot, w.prev_snapshot) as prev,
           coalesce(b.next_snapshot, w.next_snapshot) as next, b.last_txid, b.last_seq, b.exhausted,
           (b.settled_before, b.still_open)::settled_line as settled, b.rate_until, b.expired
      from consumer c
      join queue q on q.id = c.queue_id
     cross join generate_series(0, q.lanes - 1) as l(lane)
     cross join lateral (select * from batch_%1$s b where b.consumer_id = c.id and b.lane = l.lane order by b.n desc limit 1) b
     -- limit: looked up for each cursor, where a join might begin with all batches there are
     cross join lateral (select * from batch_%1$s w where w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n limit 1) w
     where c.queue_id = %1$s and ($1 is null or c.id = $1)
$sql$, queue_id);

create function cursors(queue_id int, of_consumer int default null) returns table (
  consumer_id int,
  lane smallint,
  n bigint,
  segment smallint,
  prev pg_snapshot,
  next pg_snapshot,
  last_txid xid8,
  last_seq bigint,
  exhausted boolean,
  settled settled_line,
  rate_until timestamptz,
  expired bigint
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
begin
  return query execute cursors_query(queue_id) using of_consumer;
end
$$;

-- How many entries of the indexes of a table, and of those that inherit from it, this session has read lately: since it last reported its
-- statistics. What an index scan reads is counted at the index, rows that are not visible too.
create function index_entries_read(source text) returns bigint
language sql
volatile
set search_path from current
begin atomic
  select coalesce(sum(pg_stat_get_xact_tuples_returned(x.indexrelid)), 0)::bigint
    from pg_index x
   where x.indrelid = index_entries_read.source::regclass
      or x.indrelid in (select i.inhrelid from pg_inherits i where i.inhparent = index_entries_read.source::regclass);
end;

-- schema/39_window_segments.sql

-- Where a window's messages lie. A receive that looks into every segment of the ring pays for each of them; with a ring that has grown
-- that is most of its cost. But a window never changes once taken, so a page of it need only look into the segments that hold the next of
-- its messages. Which ones those are is found out with its second page, and stored with the window. A ring of few segments is not worth it.

create function segments_looked_into() returns int
language sql
immutable
return 4;

-- The segments that hold messages of a lane from the end of prev_snapshot to that of next_snapshot, with each one's first and last txid. What was
-- late, from before the end of prev_snapshot, is read from the whole ring. Some of these messages may not be in the window: that does no harm.
create function find_window_segments(
  queue_id int, lane int, prev_snapshot pg_snapshot, next_snapshot pg_snapshot, out segments int[], out mins xid8[], out maxs xid8[]
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  segment int;
  ends record;
begin
  segments := '{}';
  mins := '{}';
  maxs := '{}';
  for segment in 0 .. segment_count(queue_id) - 1 loop
    execute format($sql$
      select (select m.txid from message_%1$s_%2$s m where m.lane = $3 and m.txid >= $1 and m.txid < $2 order by m.lane, m.txid, m.seq limit 1) as first,
             (select m.txid from message_%1$s_%2$s m where m.lane = $3 and m.txid >= $1 and m.txid < $2 order by m.lane desc, m.txid desc, m.seq desc limit 1) as last
    $sql$, queue_id, segment) into ends using pg_snapshot_xmax(prev_snapshot), pg_snapshot_xmax(next_snapshot), lane;
    if ends.first is not null then
      segments := segments || segment;
      mins := mins || ends.first;
      maxs := maxs || ends.last;
    end if;
  end loop;
end
$$;

-- The next part of a window: everything from a txid on and before another lies in these segments. more: the window goes on from there.
-- before is null when nothing is left.
create function window_part(
  segments int[], mins xid8[], maxs xid8[], from_txid xid8, out part int[], out before xid8, out more boolean
)
language plpgsql
immutable
set search_path from current
as $$
declare
  last xid8;
begin
  -- before PostgreSQL 15 there is no min(xid8)
  select w.last into last from unnest(maxs) as w(last) where w.last >= from_txid order by w.last limit 1;
  before := (last::text::numeric + 1)::text::xid8;
  part := array(select w.segment from unnest(segments, mins, maxs) as w(segment, first, last) where w.first < before and w.last >= from_txid);
  more := exists (select from unnest(maxs) as w(last) where w.last >= before);
end
$$;

-- schema/40_receive.sql

-- Receiving. The cursor of a (consumer, lane) is a pair of snapshots and a position: the window is every message that
-- next_snapshot sees and prev_snapshot does not. It never changes once taken, so it can be paged by (txid, seq) in any page
-- size by any number of workers. When it is used up, next becomes prev and the receiver takes a new next: no ticker.
--
-- Why no message is missed or comes twice: a row is inserted before its transaction commits, so one visible in
-- next_snapshot is visible to the statement that follows; one still in progress is in next_snapshot's list or at or after
-- its xmax, and so in a later window. Sequences, commit order and long writers do not matter. A receive that rolls back
-- takes its cursor row back with it.

-- The statements that read the cursor of a consumer in a lane, its newest batch row, from some table of batches. A window is stored in the
-- row that took it, in the same table.
create function read_cursor(source text, lane text) returns text
language sql
immutable
return format($sql$
      select b.* into position from %1$s b where b.consumer_id = reader and b.lane = %2$s order by b.n desc limit 1;
      is_there := found;
      if is_there and position.next_snapshot is null then
        select b.prev_snapshot, b.next_snapshot, b.window_segments, b.window_mins, b.window_maxs
          into position.prev_snapshot, position.next_snapshot, position.window_segments, position.window_mins, position.window_maxs
          from %1$s b
         where b.consumer_id = reader and b.lane = %2$s and b.n = position.window_n;
      end if;
$sql$, source, lane);

-- The same for the table of the current segment, whichever that is.
create function read_current_cursor(queue_id int, lane text) returns text
language sql
stable
set search_path from current
begin atomic
  select string_agg(format('when %s then %s', segment, read_cursor(format('batch_%s_%s', queue_id, segment), lane)), '' order by segment)
    from generate_series(0, segment_count(queue_id) - 1) as ring(segment);
end;

-- The statements that receive from one lane, whose cursor's lock is held, and return from the function when there was something.
create function receive_lane(queue_id int, lane text) returns text
language plpgsql
set search_path from current
as $generate$
begin
  return format($lane$
  current_segment := pointer_segment(pg_sequence_last_value('segment_pointer_%1$s'));
  case current_segment
    %2$s
    else
      -- younger than this function
      is_there := false;
  end case;
  if not is_there then
    %3$s
    current_segment := pointer_segment(pg_sequence_last_value('segment_pointer_%1$s'));
  end if;
  started := clock_timestamp();

  for attempt_no in case when position.exhausted then 2 else 1 end .. 2 loop
    if attempt_no = 2 then
      position.prev_snapshot := position.next_snapshot;
      position.next_snapshot := snapshot_now();
      position.last_txid := '0';
      position.last_seq := -1;
      position.window_segments := null;
      position.window_mins := null;
      position.window_maxs := null;
    end if;
    keeps_window := attempt_no = 1 and position.segment = current_segment;
    before_txid := pg_snapshot_xmax(position.next_snapshot);
    after_txid := pg_snapshot_xmax(position.prev_snapshot);
    after_seq := -1;
    is_among_late := position.last_txid < after_txid;
    if not is_among_late then
      after_txid := position.last_txid;
      after_seq := position.last_seq;
    end if;
    %4$s
    if is_among_late and pg_snapshot_xmin(position.prev_snapshot) < after_txid then
      %5$s
    else
      %6$s
    end if;
    if found then
      return;
    end if;
    %8$s
  end loop;

  -- a poll that had much to skip (an open bulk load, other consumers' retries, what had expired) is not paid for again. Not one that was slow
  -- for other reasons
  if expired > 0 or clock_timestamp() - started > interval '10 ms'
     and index_entries_read('message_%1$s') > 1000 then
    insert into batch_%1$s (
      segment, consumer_id, lane, n, prev_snapshot, next_snapshot, window_n, last_txid, last_seq, messages, expired, exhausted, settled_before,
      still_open, rate_until
    ) values (
      current_segment, reader, %7$s, position.n + 1, position.next_snapshot, position.next_snapshot, position.n + 1, '0', -1, 0, position.expired + expired, true,
      position.settled_before, position.still_open, position.rate_until
    );
  end if;
$lane$, queue_id, read_current_cursor(queue_id, lane), read_cursor(format('batch_%s', queue_id), lane), receive_parts(queue_id, lane),
  receive_page(queue_id, lane, 'late'), receive_page(queue_id, lane, 'window'), lane,
  count_expired(queue_id, lane));
end
$generate$;

-- Writes receive_<queue id>. Its steps, and what must not be changed about them:
--   1. READ COMMITTED only, and in the cluster whose transaction ids are stored: see 06_cluster_mark.sql.
--   2. ROW EXCLUSIVE on the parent of the batch tables, first of all: see create_segment.
--   3. The advisory lock of the consumer's cursors, in a statement of its own, so that the next statement's snapshot is taken after it.
--      An exclusive consumer gets its open batch again, if there is one. A queue with lanes is received from lane by lane: see 41_lanes.sql.
--   4. The newest batch row is the cursor. If the consumer has rows in the current segment, the newest of them it is: the pointer moves to
--      empty segments only, and whoever writes a batch row holds the cursor's lock, or by truncating keeps all receivers out. Otherwise
--      it is looked for in all, and the pointer is read again now that this transaction holds ACCESS SHARE on every batch table and
--      none of them is truncated until it ends: by the old pointer the new row might go where an older one is not the newest.
--   5. Messages of transactions that were in progress in prev and finished by next come first: one index probe for each
--      such transaction. A range scan from xmin(prev) would read an hour of messages behind an hour-old writer.
--   6. Then the rest of the window. Its lower bound is the row comparison alone: with "txid >=" beside it the b-tree starts
--      at the wrong key and reads the window again.
--   7. Nothing there, or known to be exhausted: once more with a new window. Still nothing: nothing was written, not even a
--      transaction id taken.
-- The plan is an ordered index scan whatever the statistics say: the planner has nothing else to choose.
create function generate_receive(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
begin
  execute format($ddl$
create or replace function receive_%1$s(consumer text, worker text, max_messages int, lease interval, max_bytes int) returns setof received_message
language plpgsql
security definer
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $receive$
declare
  reader int;
  reader_mode text;
  is_paused boolean;
  has_limits boolean;
  position record;
  current_segment smallint;
  started timestamptz;
  expired bigint := 0;
  rate_from timestamptz;
  rate_step interval;
  limits record;
  is_there boolean;
  keeps_window boolean;
  is_among_late boolean;
  after_txid xid8;
  after_seq bigint;
  before_txid xid8;
  from_txid xid8;
  part record;
  lanes int[];
  from_lane int;
begin
  -- what is wrong is said by functions; to call them when nothing is would cost an empty poll a third of its time
  if current_setting('transaction_isolation') <> 'read committed' or is_elsewhere() then
    perform require_home();
    perform require_read_committed('receive');
  end if;
  if (max_messages between 1 and 100000 and lease > '0' and lease <= '7 days' and coalesce(max_bytes, 1) > 0) is not true then
    perform check_receive(max_messages, lease, max_bytes);
  end if;
  lock table only batch_%1$s in row exclusive mode;
  select c.id, c.mode, c.paused, coalesce(c.max_in_flight, c.rate_limit) is not null as has_limits into reader, reader_mode, is_paused, has_limits
    from consumer c where c.queue_id = %1$s and c.name = receive_%1$s.consumer;
  if reader is null then
    perform require_consumer(%1$s, consumer);
  end if;
  if is_paused%4$s then
    return;
  end if;
  perform pg_advisory_xact_lock(hashint8extended(reader::bigint << 16, %2$s));
  if reader_mode = 'exclusive' then
    return query select * from receive_open_batch(%1$s, reader, worker, lease);
    if found then
      return;
    end if;
  end if;
  if has_limits then
    limits := receive_allowance(%1$s, reader, max_messages);
    max_messages := limits.allowed;
    rate_from := limits.rate_from;
    rate_step := limits.rate_step;
    if max_messages = 0 and reader_mode <> 'ordered' then
      return;
    end if;
  end if;
%3$s
end
$receive$;
revoke all on function receive_%1$s(text, text, int, interval, int) from public
$ddl$, queue_id, lock_seed('cursor', queue_id),
  case when (select q.lane_by is null from queue q where q.id = queue_id) then receive_lane(queue_id, '0') else receive_lanes(queue_id) end,
  case when (select q.paused from queue q where q.id = queue_id) then ' or true' else '' end);
end
$generate$;

create function check_receive(max_messages int, lease interval, max_bytes int) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if max_messages is null or max_messages not between 1 and 100000 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected max to be an integer from 1 to 100000, got: %s', coalesce(max_messages::text, 'NULL')),
      hint = 'Receive what you can handle within one lease.';
  end if;
  if lease is null or not (lease > '0' and lease <= '7 days') then
    raise exception using
      errcode = 'PQ004',
      message = format('expected the lease to be longer than 0 and at most 7 days, got: %s', coalesce(lease::text, 'NULL')),
      hint = 'A worker that sends heartbeats needs no long lease.';
  end if;
  if max_bytes < 1 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected max_bytes to be an integer from 1 to 2147483647, or null, got: %s', max_bytes),
      hint = 'One message is handed out whatever its size.';
  end if;
end
$$;

-- schema/41_lanes.sql

-- Receiving from a queue with lanes. A batch comes from one lane. Which lanes have something is found out in one statement, a few index
-- probes for each; then they are tried in turn:
--   priority  the highest first; with lowest_first_every, now and then the lowest
--   key       round robin, so that none is starved
-- The cursors of one consumer share one lock: a lock each would let two workers wait for each other.

-- The lanes of a consumer that may have something to receive, in the order in which they are to be tried. Of an ordered consumer, those
-- without an open batch, or with one that is to be handed out again.
create function lanes_to_try(queue_id int) returns text
language plpgsql
set search_path from current
as $generate$
declare
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  return format($sql$
    select array_agg(b.lane order by %3$s)
      from (
        select b.*%5$s
          from generate_series(0, %2$s) as l(lane)
         cross join lateral (select * from batch_%1$s b where b.consumer_id = reader and b.lane = l.lane order by b.n desc limit 1) b
      ) b
      join batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
     cross join lateral (select coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next) s
     cross join lateral (
       select reader_mode = 'ordered' and b.id is not null
          and not exists (select from outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final) as open
     ) o
     where case when o.open then can_be_taken_over(b.worker, b.lease_until, b.waits_until)
             else exists (
               -- with so many retries of others in front, the lane is tried to move its cursor past them
               select from (
                 select m.consumer_id, row_number() over () as number
                   from message_%1$s m
                  where m.lane = b.lane
                    and (m.txid, m.seq) > %4$s
                  limit 1000
               ) m
                where m.consumer_id is null or m.consumer_id = reader or m.number = 1000
             ) or exists (
               select from (select pg_snapshot_xip(s.prev) union select pg_snapshot_xip(s.next)) as late(txid)
                 join message_%1$s m on m.lane = b.lane and m.txid = late.txid
                where (m.consumer_id is null or m.consumer_id = reader)
                  and not (pg_visible_in_snapshot(m.txid, s.next) and (m.txid, m.seq) <= (b.last_txid, b.last_seq))
                  and not pg_visible_in_snapshot(m.txid, s.prev)
             )
           end
  $sql$, queue_id, settings.lanes - 1,
    case
      when settings.lane_by = 'key' then format('(b.lane + %1$s - b.batches %% %1$s) %% %1$s', settings.lanes)
      when settings.lowest_first_every is not null then format('case when nullif(b.batches, 0) %% %s = 0 then b.lane else -b.lane end', settings.lowest_first_every)
      else '-b.lane'
    end,
    main_part_after('b', 's.prev'),
    -- counted for each consumer: by the queue's batches, of two that take turns one would always have a lane and the other never
    case when settings.lane_by = 'key' or settings.lowest_first_every is not null then ', (sum(b.n - 1) over ())::bigint as batches' else '' end);
end
$generate$;

-- The statements that receive from the lanes of a queue, and return from the function when there was something.
create function receive_lanes(queue_id int) returns text
language plpgsql
set search_path from current
as $generate$
begin
  return format($lanes$
  lanes := (
    %2$s
  );
  foreach from_lane in array coalesce(lanes, '{}') loop
    if reader_mode = 'ordered' and (open_batch_of_lane(%1$s, reader, from_lane)).batch_id is not null then
      return query select * from receive_rest(%1$s, reader, from_lane, worker, lease);
      if found then
        return;
      end if;
      -- nothing was left of it, or somebody is just settling it
      continue when (open_batch_of_lane(%1$s, reader, from_lane)).batch_id is not null;
    end if;
    -- a limit is reached, which holds up no rest: it was received before
    continue when max_messages = 0;
    expired := 0;
    %3$s
  end loop;
$lanes$, queue_id, lanes_to_try(queue_id), receive_lane(queue_id, 'from_lane'));
end
$generate$;

-- schema/42_open_batches.sql

-- Open batches: received and not finished.
--
-- Batch rows are numbered per (consumer, lane) under the cursor's lock, so when one is visible all before it are. Each says which
-- of those before it may be open: the ones that still_open names and, from settled_before on, any. So a batch that stays open for
-- hours does not make whoever looks for open ones read all that was received since.

-- The numbers of the batches of one cursor that are open.
create function open_numbers(queue_id int, consumer_id int, lane int, line settled_line) returns setof bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  -- two scans: with OR there would be one, from the beginning of the ring
  return query execute format($sql$
    select b.n
      from (
        select * from batch_%1$s where consumer_id = $1 and lane = $2 and n = any ($4)
        union all
        select * from batch_%1$s where consumer_id = $1 and lane = $2 and n >= $3
      ) b
     where b.id is not null
       and not exists (select from outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
     order by b.n
  $sql$, queue_id) using consumer_id, lane, (line).settled_before, (line).still_open;
end
$$;

-- The line moved on towards the newest row, n. The last 64 rows are left out: most batches are finished a moment after they were
-- received, and need not be named. With more than 100 to name it moves to the first of them.
create function move_settled_line(queue_id int, consumer_id int, lane int, n bigint, line settled_line) returns settled_line
language plpgsql
volatile
set search_path from current
as $$
declare
  settled_before constant bigint := greatest((line).settled_before, n - 64);
  open constant bigint[] := array(
    select o.n from open_numbers(queue_id, consumer_id, lane, line) as o(n) where o.n < settled_before order by o.n
  );
begin
  if cardinality(open) > 100 then
    return (open[1], null)::settled_line;
  end if;
  return (settled_before, nullif(open, '{}'))::settled_line;
end
$$;

-- All open batches of a queue, or of one consumer. One statement for all cursors, not one for each: a queue may have a
-- thousand lanes, and to plan it is most of its cost.
create function open_batches(queue_id int, of_consumer int default null) returns table (
  batch_id bigint,
  segment int,
  consumer_id int,
  lane int,
  first_txid xid8,
  first_seq bigint,
  worker text,
  lease_until timestamptz,
  waits_until timestamptz
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  return query execute format($sql$
    select b.id, b.segment::int, c.consumer_id, c.lane::int, b.first_txid, b.first_seq, b.worker, b.lease_until, b.waits_until
      from cursors(%1$s, $1) c
     cross join lateral (
       select * from batch_%1$s where consumer_id = c.consumer_id and lane = c.lane and n = any ((c.settled).still_open)
       union all
       select * from batch_%1$s where consumer_id = c.consumer_id and lane = c.lane and n >= (c.settled).settled_before
     ) b
     where b.id is not null
       and not exists (select from outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
  $sql$, queue_id) using of_consumer;
end
$$;

-- schema/43_batch_messages.sql

-- What a batch holds, read again from its window: the messages between its first and its last position that next_snapshot
-- sees and prev_snapshot does not, or of these its rest. Late transactions and the rest of the window are read as receive reads them.
--
-- Neither scan has another condition on txid beside the upper bound (txid, seq) <= (…): on PostgreSQL 17 "txid = x and (txid, seq) <= (y, n)"
-- may return rows of other transactions up to y, those of the batch a second time and others that are not in the window. Its index scan
-- takes a page's last tuple that fails the row comparison by seq for one that meets every condition on txid, and checks none on that page.
create function batch_messages(batch_id bigint) returns table (
  message_id bigint,
  consumer_id int,
  attempt int,
  lane smallint,
  key text,
  expires_at timestamptz,
  type text,
  payload text,
  headers jsonb,
  created_at timestamptz
)
language plpgsql
stable
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  of_queue constant int := batch_queue(batch_id);
  b record;
begin
  execute format($sql$
    select b.*, coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next
      from batch_%1$s_%2$s b
      join batch_%1$s_%2$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
     where b.id = $1
  $sql$, of_queue, batch_segment(batch_id)) into b using batch_id;
  return query execute format($sql$
    select m.id, $8, coalesce($10[array_position($9, m.id)], m.attempt)::int, m.lane, m.key, m.expires_at, m.type, m.payload, m.headers, m.created_at
      from (
        select m.*
          from pg_snapshot_xip($1) as late(txid)
         cross join lateral (
           select * from message_%1$s m
            where m.lane = $7 and m.txid = late.txid
              and m.seq >= case when late.txid = $3 then $4 else 0 end
              and m.seq <= case when late.txid = $5 then $6 else 9223372036854775807 end
         ) m
         where late.txid >= $3 and late.txid <= $5 and pg_visible_in_snapshot(late.txid, $2)
        union all
        select *
          from message_%1$s m
         where m.lane = $7
           and (m.txid, m.seq) >= (case when $3 < pg_snapshot_xmax($1) then pg_snapshot_xmax($1) else $3 end,
                                   case when $3 < pg_snapshot_xmax($1) then -1 else $4 end)
           and (m.txid, m.seq) <= ($5, $6)
           and pg_visible_in_snapshot(m.txid, $2)
      ) m
     where (m.consumer_id is null or m.consumer_id = $8)
       and case when $9 is null then m.expires_at is null or m.expires_at > $11 else m.id = any ($9) end
     order by m.txid, m.seq
  $sql$, of_queue) using b.prev, b.next, b.first_txid, b.first_seq, b.last_txid, b.last_seq, b.lane, b.consumer_id, b.rest_ids, b.rest_attempts, b.created_at;
end
$$;

-- schema/44_settle.sql

-- How batches end. The outcomes of a batch are a small log, unique on (batch, n): whoever settles something reads the newest,
-- stops if it is final, and inserts the next; on a conflict somebody else was faster, and it reads again. So acks of some
-- messages, the final ack and recovery cannot overlook each other, and a batch is finished once.
--
-- The row of the batch is locked first: two who look for a conflict at the same moment find none, both insert, and the loser's row is
-- dead. Such a lock is a mark in the row itself, not a version of it, and takes none of the server's lock table, however many batches a
-- transaction settles.

-- Whether a batch exists, and what is settled of it.
create function batch_state(batch_id bigint, out messages int, out last_n int, out final boolean, out settled bigint[])
language plpgsql
stable
set search_path from current
set enable_seqscan = off
as $$
begin
  if to_regclass(format('outcome_%s_%s', batch_queue(batch_id), batch_segment(batch_id))) is null then
    return;
  end if;
  execute format($sql$
    select b.messages, coalesce(max(o.n), 0), coalesce(bool_or(o.final), false),
           array(select s.id from outcome_%1$s_%2$s o, unnest(o.message_ids) as s(id) where o.batch_id = $1)
      from batch_%1$s_%2$s b
      left join outcome_%1$s_%2$s o on o.batch_id = b.id
     where b.id = $1
     group by b.messages
  $sql$, batch_queue(batch_id), batch_segment(batch_id)) into messages, last_n, final, settled using batch_id;
end
$$;

-- Appends an outcome. False: somebody else was faster, read the state again. The batch is looked for once more: while this waited for a
-- truncation, it may have been taken away and be gone, and with it the outcome that would have been in the way.
create function append_outcome(batch_id bigint, n int, final boolean, message_ids bigint[]) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
declare
  inserted int;
begin
  execute format($sql$
    insert into outcome_%1$s_%2$s (segment, batch_id, n, final, message_ids)
    select %2$s, b.id, $2, $3, $4 from batch_%1$s_%2$s b where b.id = $1 for no key update
    on conflict do nothing
  $sql$, batch_queue(batch_id), batch_segment(batch_id)) using batch_id, n, final, message_ids;
  get diagnostics inserted = row_count;
  return inserted = 1;
end
$$;

-- Whether a consumer of the queue may have only so many messages in flight: what is settled then makes room for more, and whoever sleeps is
-- woken for it. The usual ack has this written into it, or not.
create function has_in_flight_limit(queue_id int) returns boolean
language sql
stable
set search_path from current
begin atomic
  select exists (select from consumer c where c.queue_id = has_in_flight_limit.queue_id and c.max_in_flight is not null);
end;

create function wake_for_room(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if has_in_flight_limit(queue_id) then
    perform wake(queue_id);
  end if;
end
$$;

-- Settles some messages of a batch, or with final = true all that are not settled yet. Returns those it settled; null when
-- the batch is unknown, finished, or its lease was taken away.
create function settle_messages(batch_id bigint, message_ids bigint[], final boolean) returns bigint[]
language plpgsql
volatile
set search_path from current
as $$
declare
  state record;
  fresh bigint[];
begin
  loop
    state := batch_state(batch_id);
    if state.messages is null or state.final then
      return null;
    end if;
    fresh := array(select distinct m from unnest(message_ids) as m where m <> all (state.settled));
    if cardinality(fresh) = 0 and not final then
      return fresh;
    end if;
    if append_outcome(batch_id, state.last_n + 1, final or cardinality(state.settled) + cardinality(fresh) = state.messages, fresh) then
      perform wake_for_room(batch_queue(batch_id));
      return fresh;
    end if;
  end loop;
end
$$;

create function warn_not_settled(batch_id bigint) returns void
language plpgsql
set search_path from current
as $$
begin
  raise warning using
    errcode = 'PQ003',
    message = format('batch not found: %s', batch_id),
    hint = 'It is unknown, already finished, or its lease ended and its messages were given to another worker.';
end
$$;

-- Finishes a batch: 1 done, 0 (with a warning) unknown, already finished or lease lost. For any batch id; the usual way is ack,
-- which takes the queue's own ack_<queue id>.
create function ack_by_number(batch_id bigint, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  if settle_messages(batch_id, '{}', true) is null then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  return 1;
end
$$;

-- Writes ack_<queue id>: the usual case, a batch without an outcome, in one static statement.
create function generate_ack(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  branches text;
begin
  select string_agg(format($sql$
    when %2$s then
      insert into outcome_%1$s_%2$s (segment, batch_id, n, final)
      select %2$s, b.id, 1, true from batch_%1$s_%2$s b where b.id = ack_%1$s.batch for no key update
      on conflict (batch_id, n, segment) do nothing;$sql$,
      queue_id, segment), '' order by segment)
    into branches
    from generate_series(0, segment_count(queue_id) - 1) as ring(segment);

  execute format($ddl$
create or replace function ack_%1$s(batch bigint) returns int
language plpgsql
security definer
set search_path from current
set enable_seqscan = off
as $ack$
begin
  case batch_segment(batch) %2$s
    else
      null;
  end case;
  if not found then
    -- this runs with the owner's rights, and who may call it may settle this queue's batches alone
    if batch_queue(batch) is distinct from %1$s then
      perform warn_not_settled(batch);
      return 0;
    end if;
    return ack_by_number(batch);
  end if;%3$s
  return 1;
end
$ack$;
revoke all on function ack_%1$s(bigint) from public
$ddl$, queue_id, branches, case when has_in_flight_limit(queue_id) then format(E'\n  perform wake(%s);', queue_id) else '' end);
end
$generate$;

-- Acks some messages of a batch; it stays open until all are settled. 1 done (also when they were settled before), 0 (with a
-- warning) unknown, already finished or lease lost. An id that is not in the batch is an error.
create function ack(batch_id bigint, message_ids bigint[], caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_in_batch(batch_id, message_ids);
  if settle_messages(batch_id, message_ids, false) is null then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  return 1;
end
$$;

-- Refuses ids of messages that are not in the batch. Says nothing of a batch that is not there or finished: its caller does, and the
-- messages of a finished one may be truncated already.
create function check_in_batch(batch_id bigint, message_ids bigint[]) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  state record;
  strangers text;
begin
  if message_ids is null or array_position(message_ids, null) is not null then
    raise exception using errcode = 'PQ004', message = 'expected an array of message ids without NULL';
  end if;
  state := batch_state(batch_id);
  if state.messages is null or state.final then
    return;
  end if;
  select string_agg(m.id::text, ', ')
    into strangers
    from unnest(message_ids) as m(id)
   where m.id not in (select b.message_id from batch_messages(batch_id) b);
  if strangers is not null then
    -- while it was looked for, the lease may have ended and the segment been truncated
    state := batch_state(batch_id);
    if state.messages is null or state.final then
      return;
    end if;
    raise exception using
      errcode = 'PQ003',
      message = format('message not in batch %s: %s', batch_id, strangers),
      hint = 'Only what receive returned with this batch id is in the batch.';
  end if;
end
$$;

-- schema/45_give_back.sql

-- Giving messages back. They are written again for their consumer alone: at once into the message table, or into the delayed
-- store until they are due, or into dead_letter when their attempts are used up or they are buried.

-- What becomes of one message of a batch that is not acked.
create type given_back as (
  message_id bigint,
  -- retry: tried again, one attempt further, a dead letter when its attempts are used up; snooze: comes later, at the same attempt;
  -- release: comes at once, at the same attempt; bury: a dead letter now
  how text,
  -- of retry and snooze: how long until it comes again
  wait interval,
  -- of retry and bury: kept with the dead letter
  reason text
);

-- Writes messages of a batch again, each named once.
create function give_back(batch_id bigint, given given_back[]) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := batch_queue(batch_id);
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', of_queue)::regclass));
  settings queue;
begin
  perform require_home();
  select * into settings from queue q where q.id = of_queue;
  execute format($sql$
    with given_back as (
      select m.*, coalesce(g.wait, '0') as wait, g.reason,
             case when g.how = 'retry' then m.attempt + 1 else m.attempt end as next_attempt,
             g.how = 'bury' or (g.how = 'retry' and m.attempt > $3) as is_dead
        from batch_messages($1) m
        join unnest($2) as g on g.message_id = m.message_id
    ),
    dead as (
      insert into dead_letter (queue_id, consumer, message_id, attempt, lane, key, type, payload, headers, created_at, reason)
      select %1$s, c.name, g.message_id, g.attempt, g.lane, g.key, g.type, g.payload, g.headers, g.created_at, g.reason
        from given_back g
        join consumer c on c.id = g.consumer_id
       where is_dead
    ),
    near as (
      insert into %3$I (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select clock_timestamp() + wait, $4, message_id, created_at, consumer_id, next_attempt, lane, key, expires_at, type, payload, headers
        from given_back
       where not is_dead and wait > '0' and wait <= $5
    ),
    far as (
      insert into %4$I (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select clock_timestamp() + wait, $4, message_id, created_at, consumer_id, next_attempt, lane, key, expires_at, type, payload, headers
        from given_back
       where not is_dead and wait > $5
    )
    insert into message_%1$s_%2$s (seq, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
    select nextval('message_seq_%1$s'), message_id, created_at, consumer_id, next_attempt, lane, key, expires_at, type, payload, headers
      from given_back
     where not is_dead and wait <= '0'
  $sql$, of_queue, current_segment, delayed_table('near'), delayed_table('far'))
    using batch_id, given, settings.max_retries, settings.uid, delayed_near_span();
  perform wake(of_queue);
end
$$;

-- Messages that all go the same way.
create function all_given_back(message_ids bigint[], how text, wait interval default null, reason text default null) returns given_back[]
language sql
immutable
set search_path from current
return array(select row(m, how, wait, reason)::given_back from (select distinct unnest(message_ids)) as one(m));

-- Those of a list that name one of these messages.
create function given_among(given given_back[], message_ids bigint[]) returns given_back[]
language sql
immutable
set search_path from current
return array(select g from unnest(given) as g where g.message_id = any (message_ids));

-- schema/45_nack.sql

-- Some messages of a batch that stays open: given back to be tried again, snoozed or buried. A batch of an ordered consumer that does
-- not skip ends with what waits in its lane: what is not settled of it waits behind.

create function check_wait(name text, waits interval[]) returns void
language plpgsql
immutable
set search_path from current
as $$
declare
  wrong interval;
begin
  select w into wrong from unnest(waits) as w where w is null or not (w >= '0' and w <= '100 years') limit 1;
  if found then
    raise exception using
      errcode = 'PQ004',
      message = format('expected %s to be from 0 to 100 years, got: %s', name, coalesce(wrong::text, 'NULL')),
      hint = 'To give a message back at once without using an attempt, use release_ids of settle.';
  end if;
end
$$;

-- Gives some messages of a batch back, all the same way: see given_back. Returns how many; those that were settled before are left alone.
create function give_some_back(batch_id bigint, message_ids bigint[], how text, wait interval, reason text) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  mode constant record := batch_mode(batch_id);
  fresh bigint[];
  given int;
begin
  perform check_in_batch(batch_id, message_ids);
  -- what is buried leaves its lane, nothing waits for it
  if mode.mode = 'ordered' and mode.on_failure = 'block' and how <> 'bury' then
    given := hold(batch_id, all_given_back(message_ids, how, wait, reason), others_stay => true);
  else
    fresh := settle_messages(batch_id, message_ids, false);
    given := cardinality(fresh);
    if given > 0 then
      perform give_back(batch_id, all_given_back(fresh, how, wait, reason));
    end if;
  end if;
  if given is null then
    perform warn_not_settled(batch_id);
  end if;
  return coalesce(given, 0);
end
$$;

-- Gives some messages of a batch back, to be tried again after retry_after, or as dead letters when their attempts are used up.
-- Returns how many; those that were settled before are left alone. 0 with a warning: unknown, finished, or lease lost. A batch of an ordered
-- consumer that does not skip ends with it, and what is not settled of it waits in its place.
create function nack(
  batch_id bigint, message_ids bigint[], retry_after interval default '60 s', reason text default null, caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_wait('retry_after', array[retry_after]);
  return give_some_back(batch_id, message_ids, 'retry', retry_after, reason);
end
$$;

-- Gives one message back: PgQue's shape.
create function nack(batch_id bigint, msg message, retry_after interval default '60 s', reason text default null) returns int
language sql
return nack(batch_id, array[(msg).msg_id], retry_after, reason);

-- Gives some messages of a batch back, to come again after snooze_after (0 to 100 years) at the same attempt, as often as one likes: it is
-- not yet their time, nothing has failed. They wait where a failed message does. Returns how many, 0 with a warning, and ends a batch of an
-- ordered consumer as nack does.
create function snooze(batch_id bigint, message_ids bigint[], snooze_after interval, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  perform check_wait('snooze_after', array[snooze_after]);
  return give_some_back(batch_id, message_ids, 'snooze', snooze_after, null);
end
$$;

-- Makes dead letters of some messages of a batch, whatever attempts they have left: to try again would not help. What is behind them in
-- their lane goes on. Returns how many, 0 with a warning, as nack does; the batch stays open whatever the mode of the consumer.
create function bury(batch_id bigint, message_ids bigint[], reason text default null, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_receive(caller, batch_queue(batch_id));
  return give_some_back(batch_id, message_ids, 'bury', null, reason);
end
$$;

-- schema/45_settle_batch.sql

-- A whole batch in one call, each message its own way.

-- The lists of settle as one, checked.
create function outcomes_of_lists(
  retry_ids bigint[], retry_after interval[], reasons text[], release_ids bigint[], snooze_ids bigint[], snooze_after interval[],
  dead_ids bigint[], dead_reasons text[]
) returns given_back[]
language plpgsql
immutable
set search_path from current
as $$
declare
  given given_back[];
  ambiguous text;
begin
  if cardinality(retry_ids) <> cardinality(retry_after) or cardinality(reasons) not in (0, cardinality(retry_ids)) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many retry_after as retry_ids (%s) and as many reasons or none, got: %s and %s',
        cardinality(retry_ids), cardinality(retry_after), cardinality(reasons));
  elsif cardinality(snooze_ids) <> cardinality(snooze_after) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many snooze_after as snooze_ids (%s), got: %s', cardinality(snooze_ids), cardinality(snooze_after));
  elsif cardinality(dead_reasons) not in (0, cardinality(dead_ids)) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many dead_reasons as dead_ids (%s) or none, got: %s', cardinality(dead_ids), cardinality(dead_reasons));
  end if;
  perform check_wait('retry_after', retry_after), check_wait('snooze_after', snooze_after);
  given := array(
    select distinct on (g.how, g.message_id) row(g.*)::given_back
      from (
        select r.id as message_id, 'retry' as how, r.wait, r.reason from unnest(retry_ids, retry_after, reasons) as r(id, wait, reason)
        union all
        select s.id, 'snooze', s.wait, null from unnest(snooze_ids, snooze_after) as s(id, wait)
        union all
        select r.id, 'release', null, null from unnest(release_ids) as r(id)
        union all
        select d.id, 'bury', null, d.reason from unnest(dead_ids, dead_reasons) as d(id, reason)
      ) g
  );
  select string_agg(twice.id::text, ', ')
    into ambiguous
    from (select g.message_id from unnest(given) as g group by g.message_id having count(*) > 1 order by g.message_id) as twice(id);
  if ambiguous is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('expected retry_ids, release_ids, snooze_ids and dead_ids to have no message in common, got more than once: %s', ambiguous);
  end if;
  return given;
end
$$;

-- Finishes a batch in one call. All that no list names is acked; no message is in two lists, and lists that belong together are as long
-- as each other, those of reasons or empty.
--   retry_ids    tried again after their retry_after, one attempt further; dead letters, with their reasons, when their attempts are used up
--   release_ids  given back at once without using an attempt (in their place, if the consumer is exclusive or ordered)
--   snooze_ids   given back without using an attempt, to come again after their snooze_after. They wait where a failed message does: with
--                an ordered consumer that blocks in their lane, which waits with them, with any other apart, while others are delivered
--   dead_ids     dead letters now, with their dead_reasons, whatever attempts they have left; a lane goes on
-- 1 done, 0 (with a warning) unknown, finished or lease lost.
-- Errors: PQ003 a message that is not in the batch, PQ004 lists that do not belong together, a time that is not from 0 to 100 years.
create function settle(
  batch_id bigint,
  retry_ids bigint[] default '{}',
  retry_after interval[] default '{}',
  reasons text[] default '{}',
  release_ids bigint[] default '{}',
  snooze_ids bigint[] default '{}',
  snooze_after interval[] default '{}',
  dead_ids bigint[] default '{}',
  dead_reasons text[] default '{}',
  caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  given given_back[];
  mode record;
  is_done boolean;
begin
  perform require_receive(caller, batch_queue(batch_id));
  retry_ids := coalesce(retry_ids, '{}');
  retry_after := coalesce(retry_after, '{}');
  reasons := coalesce(reasons, '{}');
  release_ids := coalesce(release_ids, '{}');
  snooze_ids := coalesce(snooze_ids, '{}');
  snooze_after := coalesce(snooze_after, '{}');
  dead_ids := coalesce(dead_ids, '{}');
  dead_reasons := coalesce(dead_reasons, '{}');
  if cardinality(retry_ids) + cardinality(retry_after) + cardinality(reasons) + cardinality(release_ids)
    + cardinality(snooze_ids) + cardinality(snooze_after) + cardinality(dead_ids) + cardinality(dead_reasons) = 0 then
    return ack(batch_id);
  end if;
  given := outcomes_of_lists(retry_ids, retry_after, reasons, release_ids, snooze_ids, snooze_after, dead_ids, dead_reasons);
  perform check_in_batch(batch_id, array(select g.message_id from unnest(given) as g));
  mode := batch_mode(batch_id);
  if mode.mode = 'ordered' then
    is_done := hold(batch_id, given, others_stay => false) is not null;
  elsif mode.mode = 'exclusive' then
    is_done := settle_in_place(batch_id, given);
  else
    is_done := settle_apart(batch_id, given);
  end if;
  if not is_done then
    perform warn_not_settled(batch_id);
  end if;
  return is_done::int;
end
$$;

-- Finishes a batch, and writes what is given back of it again. False: unknown, finished or lease lost.
create function settle_apart(batch_id bigint, given given_back[]) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  fresh constant bigint[] := settle_messages(batch_id, array(select g.message_id from unnest(given) as g), true);
begin
  if fresh is not null then
    perform give_back(batch_id, given_among(given, fresh));
  end if;
  return fresh is not null;
end
$$;

-- The same of an exclusive consumer: what is released stays in its place, and so in the batch, for whoever receives next.
create function settle_in_place(batch_id bigint, given given_back[]) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  released constant bigint[] := array(select g.message_id from unnest(given) as g where g.how = 'release');
  fresh bigint[];
begin
  if cardinality(released) = 0 then
    return settle_apart(batch_id, given);
  end if;
  fresh := settle_messages(batch_id, array(select m.message_id from batch_messages(batch_id) m where m.message_id <> all (released)), false);
  if cardinality(fresh) > 0 then
    perform give_back(batch_id, given_among(given, fresh));
  end if;
  return fresh is not null;
end
$$;

-- schema/46_ack_strict.sql

-- Acks a batch, or some of its messages, inside the transaction that does their work: raises where ack returns 0, so that what was done
-- under a lease that is lost does not commit; and where a message that is named was settled before, for then its work is done, or somebody
-- else's. While the transaction is open the lease is not taken away.
create function ack_strict(batch_id bigint, message_ids bigint[] default null, caller caller default current_user) returns void
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  fresh bigint[];
begin
  perform require_receive(caller, batch_queue(batch_id));
  if message_ids is not null then
    perform check_in_batch(batch_id, message_ids);
  end if;
  fresh := settle_messages(batch_id, coalesce(message_ids, '{}'), message_ids is null);
  if fresh is null or cardinality(fresh) < (select count(distinct m) from unnest(message_ids) as m) then
    raise exception using
      errcode = 'PQ006',
      message = format('lease lost: batch %s', batch_id),
      hint = 'The batch or the messages are unknown, settled already, or the lease ended and they were given to another worker. Roll back.';
  end if;
end
$$;

-- schema/47_receive_names.sql

-- receive_messages in the shape that PgQue's clients know. Only the returned messages are in the batch.
create function receive(queue text, consumer text, max_return int default 100) returns setof message
language sql
begin atomic
  select r.message_id, r.batch_id, r.type, r.payload, nullif(r.attempt - 1, 0), r.created_at,
         null::text, null::text, null::text, null::text
    from receive_messages(queue => receive.queue, consumer => receive.consumer, max_messages => max_return) as r;
end;

-- schema/48_exclusive.sql

-- Exclusive consumers: one batch at a time, in the order of the log. The open batch is handed out again on every receive, whoever
-- asks, until it is finished: PgQ's stream reader. While its lease lasts it stays the same batch. When the lease has ended, the receive
-- takes it away as recovery does for a shared consumer, but writes no message again, which would come behind later ones: it appends a
-- batch row over what is left of the same range, each message one attempt further (take_over).
--
-- A message that failed or is snoozed leaves the stream and comes later; one that is released stays in its place, in the open batch.

-- What is left of the open batch of an exclusive consumer, whose cursor's lock the caller holds. No row: none is open.
create function receive_open_batch(queue_id int, consumer_id int, worker text, lease interval) returns setof received_message
language plpgsql
volatile
set search_path from current
as $$
declare
  open record;
begin
  select * into open from open_batches(queue_id, consumer_id);
  if open.batch_id is null then
    return;
  end if;
  if can_be_taken_over(open.worker, open.lease_until, open.waits_until) then
    select * into open.batch_id, open.lease_until from take_over(open.batch_id, worker, lease);
  end if;
  return query select * from messages_left(open.batch_id, open.lease_until);
end
$$;

-- schema/49_ordered.sql

-- Ordered consumers: one open batch in each lane, so that the messages of one key are handled in order and one at a time, with any number
-- of workers, each on other lanes. Order is that of transactions that do not overlap.
--
-- What is left of a batch when it ends, because of a failure, a snooze, a release or a lease that ran out, is never written again, which
-- would put it behind later messages of its key. A batch row over the rest of the same range is appended instead, with each message's
-- attempt. After a failure or a snooze this rest waits: it is handed out to nobody before its time, and the lane with it. A consumer with
-- on_failure = skip lets failed and snoozed messages come later, out of order, as those of a shared consumer do.

-- How the consumer of a batch is subscribed.
create function batch_mode(batch_id bigint, out mode text, out on_failure text)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
begin
  if to_regclass(format('batch_%s_%s', batch_queue(batch_id), batch_segment(batch_id))) is null then
    return;
  end if;
  execute format('select c.mode, c.on_failure from batch_%1$s_%2$s b join consumer c on c.id = b.consumer_id where b.id = $1',
    batch_queue(batch_id), batch_segment(batch_id)) into mode, on_failure using batch_id;
end
$$;

-- Whether an open batch may be handed out to somebody else: it is a rest whose time has come, or its lease has ended.
create function can_be_taken_over(worker text, lease_until timestamptz, waits_until timestamptz) returns boolean
language sql
volatile
set search_path from current
return case
  when waits_until is not null then waits_until <= clock_timestamp()
  else has_lost_session(worker) or (lease_until < clock_timestamp() and not is_alive(worker))
end;

-- The open batch of a lane, which is what its newest row says. Null: none is open.
create function open_batch_of_lane(queue_id int, consumer_id int, lane int, out batch_id bigint, out can_be_taken boolean)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_sort = off
as $$
begin
  execute format($sql$
    select b.id, can_be_taken_over(b.worker, b.lease_until, b.waits_until)
      from (select * from batch_%1$s b where b.consumer_id = $1 and b.lane = $2 order by b.n desc limit 1) b
     where b.id is not null
       and not exists (select from outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and o.final)
  $sql$, queue_id) into batch_id, can_be_taken using consumer_id, lane;
end
$$;

-- What is left of the open batch of a lane, if it may be handed out; the caller holds the cursor's lock.
create function receive_rest(queue_id int, consumer_id int, lane int, worker text, lease interval) returns setof received_message
language plpgsql
volatile
set search_path from current
as $$
declare
  open constant record := open_batch_of_lane(queue_id, consumer_id, lane);
  taken record;
begin
  if open.can_be_taken is not true then
    return;
  end if;
  taken := take_over(open.batch_id, worker, lease);
  if taken.batch_id is distinct from open.batch_id then
    return query select * from messages_left(taken.batch_id, taken.lease_until);
  end if;
end
$$;

-- The messages of a batch that are not settled, as receive returns them.
create function messages_left(batch_id bigint, lease_until timestamptz) returns setof received_message
language plpgsql
volatile
set search_path from current
as $$
declare
  has_priorities constant boolean := (select q.lane_by = 'priority' from queue q where q.id = batch_queue(batch_id));
begin
  return query
    select batch_id, m.message_id, m.attempt, m.type, m.payload, m.headers, m.created_at, messages_left.lease_until,
           case when has_priorities then m.lane::int end, m.key
      from batch_messages(batch_id) m
     cross join lateral batch_state(batch_id) s
     where not s.final and m.message_id <> all (s.settled);
end
$$;

-- Finishes an open batch in its worker's place and appends one with what it left, whose attempts are used up aside: those become dead
-- letters. What waited comes at the attempt it waited with, what a worker left one further. Null: nothing was left. The same batch again:
-- a transaction that settles something of it is open, or just was.
create function take_over(old_id bigint, worker text, lease interval, out batch_id bigint, out lease_until timestamptz)
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
declare
  max_retries constant int := (select q.max_retries from queue q where q.id = batch_queue(old_id));
  waited boolean;
  state record;
  ids bigint[];
  attempts int[];
  dead bigint[];
begin
  batch_id := old_id;
  state := batch_state(old_id);
  execute format('select waits_until is not null from batch_%s_%s where id = $1', batch_queue(old_id), batch_segment(old_id)) into waited using old_id;
  select array_agg(m.message_id) filter (where waited or m.next_attempt <= max_retries + 1),
         array_agg(m.next_attempt) filter (where waited or m.next_attempt <= max_retries + 1),
         coalesce(array_agg(m.message_id) filter (where not waited and m.next_attempt > max_retries + 1), '{}')
    into ids, attempts, dead
    from (select b.message_id, b.attempt + (not waited)::int as next_attempt from batch_messages(old_id) b) m
   where m.message_id <> all (state.settled);
  -- the outcome first: a worker that settles the batch from now on finds it finished
  if state.final or not append_outcome(old_id, state.last_n + 1, true, ids || dead) then
    return;
  end if;
  perform give_back(old_id, all_given_back(dead, 'retry', '0', 'the lease ended before the message was settled'));
  lease_until := clock_timestamp() + lease;
  batch_id := append_rest(old_id, ids, attempts, worker, lease_until, null);
exception
  when lock_not_available then
    batch_id := old_id;
end
$$;

-- Appends a batch over some messages of an older one, which is the newest of its cursor. Null without messages.
create function append_rest(old_id bigint, ids bigint[], attempts int[], worker text, lease_until timestamptz, waits_until timestamptz) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := batch_queue(old_id);
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', of_queue)::regclass));
  new_id bigint;
begin
  execute format($sql$
    insert into batch_%1$s (
      segment, consumer_id, lane, n, id, prev_snapshot, next_snapshot, window_n, first_txid, first_seq, last_txid, last_seq,
      messages, rest_ids, rest_attempts, exhausted, settled_before, still_open, worker, lease_until, waits_until, rate_until, expired
    )
    select %2$s, b.consumer_id, b.lane, b.n + 1, make_batch_id(nextval('batch_seq_%1$s'), %1$s, %2$s),
           coalesce(b.prev_snapshot, w.prev_snapshot), coalesce(b.next_snapshot, w.next_snapshot), b.n + 1,
           b.first_txid, b.first_seq, b.last_txid, b.last_seq, cardinality($2), $2, $3, b.exhausted, b.settled_before, b.still_open,
           $4, $5, $6, b.rate_until, b.expired
      from batch_%1$s b
      join batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
     where b.id = $1 and cardinality($2) > 0
    returning id
  $sql$, of_queue, current_segment) into new_id using old_id, ids, attempts, worker, lease_until, waits_until;
  return new_id;
end
$$;

-- Finishes a batch of an ordered consumer with some messages given back: see given_back. The others stay in their place, or are acked.
-- What failed, is snoozed or released waits in its place until the latest of its times; what is buried leaves it, and with a consumer that
-- skips what failed or is snoozed too. Returns how many were given back; null when the batch is unknown, finished, or its lease was taken away.
create function hold(batch_id bigint, given given_back[], others_stay boolean) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  skips constant boolean := (batch_mode(batch_id)).on_failure = 'skip';
  max_retries constant int := (select q.max_retries from queue q where q.id = batch_queue(batch_id));
  waits_until timestamptz;
  state record;
  rest record;
begin
  loop
    state := batch_state(batch_id);
    if state.messages is null or state.final then
      return null;
    end if;
    select count(m.how)::int as given,
           array_agg(m.message_id) filter (where m.stays) as ids,
           array_agg(m.next_attempt) filter (where m.stays) as attempts,
           max(m.wait) filter (where m.stays) as waits,
           coalesce(array_agg(m.message_id) filter (where not m.stays), '{}') as leaving
      into rest
      from (
        select b.message_id, g.how, g.wait, b.attempt + (g.how is not distinct from 'retry')::int as next_attempt,
               case g.how
                 when 'retry' then not skips and b.attempt <= max_retries
                 when 'snooze' then not skips
                 when 'bury' then false
                 else true
               end as stays
          from batch_messages(batch_id) b
          left join unnest(given) as g on g.message_id = b.message_id
         where b.message_id <> all (state.settled) and (others_stay or g.how is not null)
      ) m;
    if rest.given = 0 and others_stay then
      return 0;
    end if;
    exit when append_outcome(batch_id, state.last_n + 1, true, rest.ids || rest.leaving);
  end loop;
  perform give_back(batch_id, given_among(given, rest.leaving));
  waits_until := clock_timestamp() + coalesce(rest.waits, '0');
  perform append_rest(batch_id, rest.ids, rest.attempts, null, waits_until, waits_until);
  perform wake_for_room(batch_queue(batch_id));
  return rest.given;
end
$$;

-- schema/50_recover.sql

-- Recovery: batches whose lease has ended are finished in their worker's place, and what they left unsettled is given back,
-- one attempt further. A lease ends at the later of the batch's own end and the last heartbeat of its worker, or at once when the
-- worker's session is over. Each call stops after a quarter of a second: the rest is for the next. Batches of exclusive and ordered
-- consumers stay in their place; for them, workers are woken: see 48_exclusive.sql and 49_ordered.sql.

create function recover(queue_id int) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  batch bigint;
  recovered int := 0;
  started constant timestamptz := clock_timestamp();
begin
  for batch in
    with open as materialized (
      select b.*
        from open_batches(queue_id) b
        join consumer c on c.id = b.consumer_id
       where c.mode = 'shared'
    ),
    worker as materialized (
      select w.name, is_alive(w.name) as alive, has_lost_session(w.name) as gone
        from (select distinct o.worker from open o where o.worker is not null) w(name)
    )
    select o.batch_id
      from open o
      left join worker w on w.name = o.worker
     where w.gone or (o.lease_until < clock_timestamp() and w.alive is not true)
     order by o.first_txid, o.first_seq
  loop
    recovered := recovered + recover_batch(batch)::int;
    exit when clock_timestamp() - started > interval '250 ms';
  end loop;
  if (select q.paused from queue q where q.id = recover.queue_id) then
    return recovered;
  end if;
  if exists (select from consumer c where c.queue_id = recover.queue_id and c.mode <> 'shared') and exists (
    select from open_batches(queue_id) b
      join consumer c on c.id = b.consumer_id and not c.paused
     where c.mode <> 'shared' and can_be_taken_over(b.worker, b.lease_until, b.waits_until)
  ) then
    perform wake(queue_id);
  elsif exists (
    -- a limit may have kept something from a worker that sleeps by now
    select from consumer c, generate_series(0, segment_count(recover.queue_id) - 1) as ring(segment)
     where c.queue_id = recover.queue_id and coalesce(c.max_in_flight, c.rate_limit) is not null and not c.paused
       and not segment_is_received(recover.queue_id, segment, c.id)
  ) then
    perform wake(queue_id);
  end if;
  return recovered;
end
$$;

-- Takes one batch away from its worker. False: a transaction that is about to settle it is still open, or somebody was faster.
create function recover_batch(batch_id bigint) returns boolean
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
declare
  state record;
  unsettled bigint[];
  is_free boolean;
begin
  -- a transaction that settles it and stays open is passed over without a wait: many of them would keep recovery from all that come after
  execute format('select true from batch_%s_%s b where b.id = $1 for no key update skip locked', batch_queue(batch_id), batch_segment(batch_id))
    into is_free using batch_id;
  if is_free is not true then
    return false;
  end if;
  state := batch_state(batch_id);
  unsettled := array(select m.message_id from batch_messages(batch_id) m where m.message_id <> all (state.settled));
  -- the outcome first: a worker that settles the batch from now on finds it finished
  if state.final or not append_outcome(batch_id, state.last_n + 1, true, unsettled) then
    return false;
  end if;
  perform give_back(batch_id, all_given_back(unsettled, 'retry', '0', 'the lease ended before the message was settled'));
  return true;
exception
  when lock_not_available then
    return false;
end
$$;

-- schema/51_move_delayed.sql

-- Moving delayed messages on: from the near store into their queues once they are due, from the far store into the near one when
-- their hour has come, and out of a table that is to be truncated.
--
-- The log of a table is a cursor: a snapshot S and a point t in (due_at, seq). A row has been moved if and only if S sees it and it
-- is at or before t. So the next move takes what lies after t up to the wanted time, and what lies at or before t but was not yet
-- visible in S: its transaction was open then. With nothing to move, nothing is written.

-- The condition that a row of a delayed table d is to be moved, in three parts that each have an index to read by. Parameters:
-- $1 S, $2 and $3 the old point, $4 and $5 the new one, $6 the snapshot of this move.
create function delayed_rows(source text) returns text
language sql
immutable
return format($sql$
  (
    select d.* from %1$I d
     where (d.due_at, d.seq) > ($2, $3) and (d.due_at, d.seq) <= ($4, $5) and pg_visible_in_snapshot(d.txid, $6)
  )
  union all
  (
    select d.*
      from pg_snapshot_xip($1) as late(txid)
     cross join lateral (select * from %1$I d where d.txid = late.txid and (d.due_at, d.seq) <= ($2, $3)) d
     where pg_visible_in_snapshot(d.txid, $6)
  )
  union all
  (
    select d.* from %1$I d
     where d.txid >= pg_snapshot_xmax($1) and (d.due_at, d.seq) <= ($2, $3) and pg_visible_in_snapshot(d.txid, $6)
  )
$sql$, source);

-- How far a table has been moved.
create function delayed_position(source text, out n bigint, out snapshot pg_snapshot, out due_at timestamptz, out seq bigint, out moved bigint)
language plpgsql
stable
set search_path from current
as $$
begin
  execute format('select l.n, l.snapshot, l.due_at, l.seq, l.moved from %I l order by l.n desc limit 1', source || '_log')
    into n, snapshot, due_at, seq, moved;
  if n is null then
    select 0, '1:1:'::pg_snapshot, '-infinity'::timestamptz, -1, 0 into n, snapshot, due_at, seq, moved;
  end if;
end
$$;

-- Moves up to about max_rows rows that are due by a time, the earliest first. target: near or far for a table of that store, null for
-- the queues. Returns how many. The caller holds the lock "delayed".
create function move_delayed(source text, target text, due_by timestamptz, max_rows int default 10000) returns bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  started constant timestamptz := clock_timestamp();
  seen constant pg_snapshot := snapshot_now();
  position constant record := delayed_position(source);
  new_due_at timestamptz;
  new_seq bigint;
  moved bigint;
begin
  execute format($sql$
    select c.due_at, c.seq
      from (
        select d.due_at, d.seq
          from %I d
         where (d.due_at, d.seq) > ($1, $2) and d.due_at <= $3 and pg_visible_in_snapshot(d.txid, $4)
         order by d.due_at, d.seq
         limit $5
      ) c
     order by c.due_at desc, c.seq desc
     limit 1
  $sql$, source) into new_due_at, new_seq using position.due_at, position.seq, due_by, seen, max_rows;
  new_due_at := coalesce(new_due_at, position.due_at);
  new_seq := coalesce(new_seq, position.seq);
  if target is null then
    moved := deliver_moved(source, position.snapshot, position.due_at, position.seq, new_due_at, new_seq, seen);
  else
    execute format($sql$
      insert into %I (due_at, queue_uid, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select d.due_at, d.queue_uid, d.id, d.created_at, d.consumer_id, d.attempt, d.lane, d.key, d.expires_at, d.type, d.payload, d.headers
        from (%s) d
    $sql$, delayed_table(target), delayed_rows(source))
      using position.snapshot, position.due_at, position.seq, new_due_at, new_seq, seen;
    get diagnostics moved = row_count;
  end if;
  -- a look at many rows that came in since S is not paid for again. Not one that was slow for other reasons
  if moved > 0 or (clock_timestamp() - started > interval '10 ms' and index_entries_read(source) > 1000) then
    execute format('insert into %I (n, snapshot, due_at, seq, moved) values ($1, $2, $3, $4, $5)', source || '_log')
      using position.n + 1, seen, new_due_at, new_seq, position.moved + moved;
  end if;
  return moved;
end
$$;

-- Inserts the rows of a move into the queues they are for. Those of queues that were dropped go nowhere.
create function deliver_moved(
  source text, old_snapshot pg_snapshot, old_due_at timestamptz, old_seq bigint, new_due_at timestamptz, new_seq bigint, seen pg_snapshot
) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  target record;
  delivered bigint;
  moved bigint := 0;
begin
  for target in
    execute format('select r.queue_uid, q.id, q.lane_by from (select distinct d.queue_uid from (%s) d) r left join queue q on q.uid = r.queue_uid order by q.id', delayed_rows(source))
      using old_snapshot, old_due_at, old_seq, new_due_at, new_seq, seen
  loop
    if target.id is null then
      moved := moved + 1;
      continue;
    end if;
    -- lanes may have been added since a message was sent whose transaction was open then: the lane of a key is found anew
    execute format($sql$
      insert into message_%1$s_%2$s (seq, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
      select nextval('message_seq_%1$s'), d.id, d.created_at, d.consumer_id, d.attempt, %4$s, d.key, d.expires_at, d.type, d.payload, d.headers
        from (%3$s) d
       where d.queue_uid = $7
       order by d.due_at, d.seq
    $sql$, target.id, pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', target.id)::regclass)), delayed_rows(source),
    case when target.lane_by = 'key' then format('lane_of_%s(d.key, d.id)', target.id) else 'd.lane' end)
      using old_snapshot, old_due_at, old_seq, new_due_at, new_seq, seen, target.queue_uid;
    get diagnostics delivered = row_count;
    moved := moved + delivered;
    perform wake(target.id);
  end loop;
  return moved;
end
$$;

-- schema/52_maintain_delayed.sql

-- One step for all delayed messages: deliver what is due, bring near what is due within the hour, and collect. Returns how much
-- was done. One session at a time does it; 0 for the others.
create function maintain_delayed() returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  done bigint;
begin
  perform require_home();
  if not pg_try_advisory_xact_lock(lock_key('delayed', 0)) then
    return 0;
  end if;
  done := move_delayed(delayed_table('far'), 'near', clock_timestamp() + delayed_near_span())
    + move_delayed(delayed_table('near'), null, clock_timestamp())
    + collect_delayed('near') + collect_delayed('far');
  return least(done, 2147483647);
end
$$;

-- Collects one store: copies what is left in the table that takes no inserts into the other one, the earliest first, and
-- truncates it when nothing is left; once it is empty, lets it take over when it is time.
create function collect_delayed(store text) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  current_table constant text := delayed_table(store);
  current_number constant int := right(current_table, 1)::int;
  other_table constant text := format('delayed_%s_%s', store, 1 - current_number);
  pointer constant regclass := format('delayed_%s_pointer', store)::regclass;
  moved bigint;
begin
  if pg_relation_size(other_table::regclass) > 0 then
    moved := move_delayed(other_table, store, 'infinity');
    return moved + case when moved = 0 then truncate_delayed(other_table)::int else 0 end;
  end if;
  if is_being_truncated(other_table::regclass)
     or clock_timestamp() - pointer_moved_at(pg_sequence_last_value(pointer)) < '30 s'
     or not delayed_is_worth_collecting(current_table) then
    return 0;
  end if;
  perform setval(pointer, pointer_to(1 - current_number));
  return 1;
end
$$;

-- Smaller tables are left as they are.
create function delayed_bytes_min() returns bigint
language sql
immutable
return 4 * 1024 * 1024;

-- A table has grown to some size and most of it has been moved, or the log of its moves has grown to it.
create function delayed_is_worth_collecting(source text) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  moved bigint;
begin
  if pg_table_size((source || '_log')::regclass) >= delayed_bytes_min() then
    return true;
  end if;
  if pg_table_size(source::regclass) < delayed_bytes_min() then
    return false;
  end if;
  execute format('select moved from %I order by n desc limit 1', source || '_log') into moved;
  -- nothing at all has been moved: null
  return coalesce(moved * 2 >= pg_sequence_last_value(pg_get_serial_sequence(source, 'seq')::regclass), false);
end
$$;

-- Truncates a table that takes no inserts, if everything in it has been moved. Never waits for its lock: the next call tries again.
create function truncate_delayed(source text) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
declare
  position record;
  something_left boolean;
begin
  execute format('lock table only %1$I, only %2$I in access exclusive mode nowait', source, source || '_log');
  -- a sender that read the pointer before it moved may have inserted since the last move
  position := delayed_position(source);
  execute format($sql$
    select exists (select from %1$I d where (d.due_at, d.seq) > ($2, $3))
        or exists (select from %1$I d where d.txid >= pg_snapshot_xmax($1))
        or exists (select from pg_snapshot_xip($1) as late(txid) join %1$I d on d.txid = late.txid)
  $sql$, source) into something_left using position.snapshot, position.due_at, position.seq;
  if something_left then
    return false;
  end if;
  execute format('truncate only %1$I, only %2$I restart identity', source, source || '_log');
  return true;
exception
  when lock_not_available then
    return false;
end
$$;

-- When the next message becomes due that waits in the near store; null: none does. For whoever calls maintain in time for it.
create function next_due_at() returns timestamptz
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
as $$
declare
  source text;
  position record;
  due_at timestamptz;
  first_due_at timestamptz;
begin
  foreach source in array array['delayed_near_0', 'delayed_near_1'] loop
    position := delayed_position(source);
    execute format('select d.due_at from %I d where (d.due_at, d.seq) > ($1, $2) order by d.due_at, d.seq limit 1', source)
      into due_at using position.due_at, position.seq;
    first_due_at := least(first_due_at, due_at);
  end loop;
  return first_due_at;
end
$$;

-- schema/53_dead_letter.sql

-- Looking at dead letters, sending them again, throwing them away: what operators do. The only DELETEs outside the registry,
-- with deliver_delayed.
--
-- Which ones is said in one vocabulary: ids; consumer, the name it died for, also of one that is gone; type_name; reason_like, a LIKE pattern;
-- died_after (or at that time) and died_before. What is left out, or null, excludes none. They are read by (queue, id), so
-- a page costs what it passes over, and ids cost a look each.

-- A dead letter as people see it.
create type listed_dead_letter as (
  id bigint,
  consumer text,
  message_id bigint,
  attempt int,
  type text,
  payload text,
  headers jsonb,
  -- null on a queue that has none
  priority int,
  key text,
  reason text,
  created_at timestamptz,
  died_at timestamptz
);

-- The condition for a dead letter d of a queue, with those filters alone that are given. $1 to $6: the filters, in this order.
create function dead_letter_filter(
  ids bigint[], consumer text, type_name text, reason_like text, died_after timestamptz, died_before timestamptz
) returns text
language plpgsql
immutable
set search_path from current
as $$
begin
  if reason_like ~ '(^|[^\\])(\\\\)*\\$' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected reason_like to be a LIKE pattern, which does not end with a single backslash, got: %L', left(reason_like, 100)),
      hint = 'Write \\ for a backslash, \% for a percent sign.';
  end if;
  return 'true'
    || case when ids is null then '' else ' and d.id = any ($1)' end
    || case when consumer is null then '' else ' and d.consumer = $2' end
    || case when type_name is null then '' else ' and d.type = $3' end
    || case when reason_like is null then '' else ' and d.reason like $4' end
    || case when died_after is null then '' else ' and d.died_at >= $5' end
    || case when died_before is null then '' else ' and d.died_at < $6' end;
end
$$;

-- The condition for a dead letter d to be of a queue, where they are taken oldest first by (queue_id, id): as a range, which the index on id
-- alone does not help with, since it would be read from the oldest of all queues on. ids are looked up.
create function dead_letter_queue(queue_id int, ids bigint[]) returns text
language sql
immutable
set search_path from current
as $$
  select case when ids is null then format('d.queue_id between %1$s and %1$s', queue_id) else format('d.queue_id = %s', queue_id) end
$$;

-- Up to max_messages (1 to 1000, default 100) dead letters of a queue, newest first. before_id: only those before this one, for the next page.
-- Errors: PQ001 no such queue, PQ004 an argument out of range.
create function dead_letters(
  queue text,
  consumer text default null,
  type_name text default null,
  reason_like text default null,
  died_after timestamptz default null,
  died_before timestamptz default null,
  before_id bigint default null,
  max_messages int default 100
) returns setof listed_dead_letter
language plpgsql
stable
security definer
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  of_queue constant int := require_queue(queue);
begin
  perform check_max_messages(max_messages, 1000);
  return query execute format($sql$
    select d.id, d.consumer, d.message_id, d.attempt, d.type, d.payload, d.headers,
           case when (select q.lane_by from queue q where q.id = %1$s) = 'priority' then d.lane::int end, d.key, d.reason, d.created_at, d.died_at
      from dead_letter d
     where d.queue_id = %1$s
       and %2$s
       and d.id < $7
     order by d.queue_id desc, d.id desc
     limit $8
  $sql$, of_queue, dead_letter_filter(null, consumer, type_name, reason_like, died_after, died_before))
    using null::bigint[], consumer, type_name, reason_like, died_after, died_before, coalesce(before_id, 9223372036854775807), max_messages;
end
$$;

-- Sends dead letters again, to the consumer they died for, from their first attempt: those that the filters choose, all of the queue without
-- any, up to max_messages (1 to 100000) of them, the oldest first. Returns how many; those of consumers that are gone stay.
-- Errors: PQ001 no such queue, PQ004 an argument out of range.
create function redrive(
  queue text,
  ids bigint[] default null,
  consumer text default null,
  type_name text default null,
  reason_like text default null,
  died_after timestamptz default null,
  died_before timestamptz default null,
  max_messages int default 100000
) returns int
language plpgsql
volatile
security definer
set search_path from current
-- as many are read as are taken, however many there are
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  of_queue constant int := require_queue(queue);
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', of_queue)::regclass));
  sent int;
begin
  perform require_home(), check_max_messages(max_messages, 100000);
  execute format($sql$
    with chosen as (
      select d.id, c.id as consumer_id
        from dead_letter d
        join consumer c on c.queue_id = %1$s and c.name = d.consumer
       where %3$s
         and %4$s
       order by d.queue_id, d.id
       limit $7
         for update of d
    ),
    taken as (
      delete from dead_letter d using chosen where d.id = chosen.id returning d.*, chosen.consumer_id
    ),
    sent as (
      insert into message_%1$s_%2$s (seq, id, created_at, consumer_id, attempt, lane, key, type, payload, headers)
      select nextval('message_seq_%1$s'), t.message_id, t.created_at, t.consumer_id, 1,
             coalesce(lane_of_key(t.key, (select lanes from queue where id = %1$s)), t.lane), t.key, t.type, t.payload, t.headers
        from taken t
       order by t.id
      returning 1
    )
    select count(*) from sent
  $sql$, of_queue, current_segment, dead_letter_queue(of_queue, ids),
    dead_letter_filter(ids, consumer, type_name, reason_like, died_after, died_before))
    into sent using ids, consumer, type_name, reason_like, died_after, died_before, max_messages;
  perform wake(of_queue);
  return sent;
end
$$;

-- Throws dead letters away: those that the filters choose, all of the queue without any; with max_messages (1 to 100000) so many of them, the
-- oldest first. Returns how many.
-- Errors: PQ001 no such queue, PQ004 an argument out of range.
create function purge_dead_letters(
  queue text,
  ids bigint[] default null,
  consumer text default null,
  type_name text default null,
  reason_like text default null,
  died_after timestamptz default null,
  died_before timestamptz default null,
  max_messages int default null
) returns bigint
language plpgsql
volatile
security definer
set search_path from current
-- as many are read as are taken, however many there are
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  purged bigint;
begin
  if max_messages is not null then
    perform check_max_messages(max_messages, 100000);
  end if;
  execute format($sql$
    with chosen as (
      select d.id from dead_letter d where %s and %s order by d.queue_id, d.id limit $7 for update
    )
    delete from dead_letter d using chosen where d.id = chosen.id
  $sql$, dead_letter_queue(require_queue(queue), ids), dead_letter_filter(ids, consumer, type_name, reason_like, died_after, died_before))
    using ids, consumer, type_name, reason_like, died_after, died_before, max_messages;
  get diagnostics purged = row_count;
  return purged;
end
$$;

-- schema/54_deliver_delayed.sql

-- Delivering what waits before its time: for a person who will not wait, and for tests.
--
-- The log of a delayed table can say that everything up to a time has been moved, and of one queue alone it can say nothing; nor may it
-- say so of a time that has not come, for what is sent later and due before that would count as late, and be delivered at once. So the
-- rows are deleted, which nothing does that runs by itself. What waits in the lanes of ordered consumers is handed out by a row appended,
-- as by a release.

-- Delivers messages of a queue that wait, sent for later or to be tried again: all that are due by a time, in the order in which they are
-- due. Returns how many. What was sent in a transaction that is still open, this one included, goes on waiting.
--   until     infinity: all of them
--   within    of these only what is due so long after the earliest; '0': nothing but the earliest. null: all
--   consumer  what waits for it, or for everybody. null: for whichever consumer
-- Locks out maintenance of delayed messages until the transaction ends, and waits for it. Errors: PQ001 no such queue, PQ002 no such consumer,
-- PQ004 an argument out of range, PQ005 above READ COMMITTED.
create function deliver_delayed(
  queue text, until timestamptz default 'infinity', within interval default null, consumer text default null
) returns bigint
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  reader int;
  due_by timestamptz := until;
  delivered bigint;
begin
  perform require_home(), require_read_committed('deliver_delayed');
  if until is null or within < '0' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected until to be a time, and within to be 0 or longer, got: %s, %s', coalesce(until::text, 'NULL'), coalesce(within::text, 'NULL')),
      hint = 'To deliver everything leave both out.';
  end if;
  if consumer is not null then
    reader := require_consumer(of_queue, consumer);
  end if;
  perform pg_advisory_xact_lock(lock_key('delayed', 0));
  if within is not null then
    due_by := least(until, first_waiting(of_queue, reader) + within);
  end if;
  delivered := deliver_early(of_queue, reader, due_by) + end_waits(of_queue, reader, due_by);
  if delivered > 0 then
    perform wake(of_queue);
  end if;
  return delivered;
end
$$;

-- The delayed tables that are not empty.
create function filled_delayed_tables() returns setof text
language sql
volatile
set search_path from current
begin atomic
  select source from unnest(delayed_tables()) as t(source) where pg_relation_size(source::regclass) > 0;
end;

-- The batches in which the lanes of ordered consumers wait, of one consumer or all, and until when.
create function waiting_batches(queue_id int, consumer_id int) returns table (batch_id bigint, waits_until timestamptz)
language plpgsql
volatile
set search_path from current
as $$
begin
  -- to look for open batches costs more than all the rest
  if exists (
    select from consumer c
     where c.queue_id = waiting_batches.queue_id and c.mode = 'ordered' and (waiting_batches.consumer_id is null or c.id = waiting_batches.consumer_id)
  ) then
    return query
      select b.batch_id, b.waits_until
        from open_batches(waiting_batches.queue_id, waiting_batches.consumer_id) b
       where b.waits_until > clock_timestamp()
       order by b.waits_until;
  end if;
end
$$;

-- When the first message of a queue becomes due that waits, for a consumer and for everybody, or without one for anybody. Null: none waits.
create function first_waiting(queue_id int, consumer_id int) returns timestamptz
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  uid constant bigint := (select q.uid from queue q where q.id = queue_id);
  seen constant pg_snapshot := snapshot_now();
  source text;
  position record;
  due_at timestamptz;
  first_due_at timestamptz := (select min(w.waits_until) from waiting_batches(queue_id, consumer_id) w);
begin
  for source in select t from filled_delayed_tables() t loop
    position := delayed_position(source);
    -- with the point where it is, delayed_rows gives what is late
    execute format($sql$
      select least(
        (
          select d.due_at
            from %1$I d
           where (d.due_at, d.seq) > ($2, $3) and pg_visible_in_snapshot(d.txid, $6) and d.queue_uid = $7 and ($8 is null or coalesce(d.consumer_id, $8) = $8)
           order by d.due_at, d.seq
           limit 1
        ),
        (select min(d.due_at) from (%2$s) d where d.queue_uid = $7 and ($8 is null or coalesce(d.consumer_id, $8) = $8))
      )
    $sql$, source, delayed_rows(source))
      into due_at using position.snapshot, position.due_at, position.seq, position.due_at, position.seq, seen, uid, consumer_id;
    first_due_at := least(first_due_at, due_at);
  end loop;
  return first_due_at;
end
$$;

-- Takes what waits for a queue out of all delayed tables and sends it. The caller holds the lock "delayed".
create function deliver_early(queue_id int, consumer_id int, due_by timestamptz) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  settings constant queue := (select q from queue q where q.id = queue_id);
  delivered bigint;
begin
  -- lanes may have been added since a message was sent whose transaction was open then: the lane of a key is found anew
  execute format($sql$
    insert into message_%1$s_%2$s (seq, id, created_at, consumer_id, attempt, lane, key, expires_at, type, payload, headers)
    select nextval('message_seq_%1$s'), d.id, d.created_at, d.consumer_id, d.attempt, %3$s, d.key, d.expires_at, d.type, d.payload, d.headers
      from (
        select taken.*
          from filled_delayed_tables() as source
         cross join lateral take_delayed(source, $1, $2, $3) taken
         order by taken.due_at, taken.seq
      ) d
  $sql$, queue_id, pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', queue_id)::regclass)),
  case when settings.lane_by = 'key' then format('lane_of_%s(d.key, d.id)', queue_id) else 'd.lane' end)
    using settings.uid, consumer_id, due_by;
  get diagnostics delivered = row_count;
  return delivered;
end
$$;

-- Deletes from one delayed table what waits there for a queue, and returns it. It counts as moved: a table of which most is gone is
-- worth collecting. All tables have the columns of the first.
create function take_delayed(source text, queue_uid bigint, consumer_id int, due_by timestamptz) returns setof delayed_near_0
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  seen constant pg_snapshot := snapshot_now();
  position constant record := delayed_position(source);
  taken bigint;
begin
  return query execute format($sql$
    delete from %1$I t
     using (%2$s) d
     where t.due_at = d.due_at and t.seq = d.seq
       and d.due_at <= $4 and d.queue_uid = $7 and ($8 is null or coalesce(d.consumer_id, $8) = $8)
    returning t.*
  $sql$, source, delayed_rows(source))
    using position.snapshot, position.due_at, position.seq, due_by, 9223372036854775807, seen, queue_uid, consumer_id;
  get diagnostics taken = row_count;
  if taken > 0 then
    execute format('insert into %I (n, snapshot, due_at, seq, moved) values ($1, $2, $3, $4, $5)', source || '_log')
      -- at or before a point that is nowhere yet nothing can be late
      using position.n + 1, case when position.due_at = '-infinity' then seen else position.snapshot end, position.due_at, position.seq, position.moved + taken;
  end if;
end
$$;

-- Ends the waits of an ordered consumer's lanes that are over by a time. Returns how many messages stand in them.
create function end_waits(queue_id int, consumer_id int, due_by timestamptz) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  waiting bigint;
  ids bigint[];
  released bigint := 0;
begin
  for waiting in
    select w.batch_id from waiting_batches(queue_id, consumer_id) w where w.waits_until <= due_by
  loop
    ids := array(select m.message_id from batch_messages(waiting) m);
    released := released + coalesce(hold(waiting, all_given_back(ids, 'release'), others_stay => true), 0);
  end loop;
  return released;
end
$$;

-- schema/54_max_lag.sql

-- Consumers that lag behind. What one consumer has not received is kept for it, and with it the space of all. A queue's max_lag says for
-- how long; then the consumer is warned of, whenever a segment is full, or dropped. Nothing is dropped without having asked for it.

-- When the oldest message was sent that a consumer has not received; null: it has received all. Judged by the first hundred that wait, and
-- not by retries and delayed messages, which are older than they have waited.
create function oldest_unreceived_at(queue_id int, consumer_id int) returns timestamptz
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  oldest_at timestamptz;
begin
  execute format($sql$
    select min(m.created_at)
      from cursors(%1$s, $1) p
     cross join lateral (
       select m.id, m.seq, m.consumer_id, m.created_at
         from message_%1$s m
        where m.lane = p.lane
          and (m.txid, m.seq) > %2$s
        order by m.lane, m.txid, m.seq
        limit 100
     ) m
     where m.consumer_id is null and m.id = m.seq
  $sql$, queue_id, main_part_after('p', 'p.prev')) into oldest_at using consumer_id;
  return oldest_at;
end
$$;

-- Looks at the consumers of a queue with a max_lag: drops, if it is to, and returns how many; else warns,
-- if it is about to rotate.
create function check_lag(queue_id int) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  settings queue;
  reader record;
  dropped int := 0;
begin
  select * into settings from queue q where q.id = queue_id;
  if settings.max_lag is null then
    return 0;
  end if;
  for reader in
    select c.id, c.name, l.oldest_at
      from consumer c
     cross join lateral (select oldest_unreceived_at(check_lag.queue_id, c.id) as oldest_at offset 0) l
     where c.queue_id = check_lag.queue_id and l.oldest_at < clock_timestamp() - settings.max_lag
  loop
    if settings.max_lag_action = 'drop' then
      insert into dropped_consumer (queue_id, name, oldest_at) values (check_lag.queue_id, reader.name, reader.oldest_at);
      delete from consumer c where c.id = reader.id;
      dropped := dropped + 1;
    end if;
    if settings.max_lag_action = 'drop' or segment_is_full(check_lag.queue_id) then
      raise warning using
        errcode = 'PQ002',
        message = format('consumer %s of queue %s %s: it has not received what was sent at %s', quote_literal(reader.name), quote_literal(settings.name),
          case settings.max_lag_action when 'drop' then 'is dropped' else 'lags' end, reader.oldest_at),
        hint = format('max_lag of the queue is %s.', settings.max_lag);
    end if;
  end loop;
  return dropped;
end
$$;

-- schema/55_extend.sql

-- Keeps one batch its worker's for another lease from now: for work that takes longer than was thought. A heartbeat under the name that the
-- batch was received with; other batches of that name are kept as well. 1: it was still held, 0 (with a warning): it is unknown, finished,
-- or its lease was lost. A lease is never shortened. Errors: PQ004 a lease out of range, or a batch that was received without a worker's name.
create function extend(batch_id bigint, lease interval default '30 s', caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  state record;
  worker text;
begin
  perform require_receive(caller, batch_queue(batch_id));
  if lease is null or not (lease > '0' and lease <= '1 day') then
    raise exception using
      errcode = 'PQ004',
      message = format('expected lease to be longer than 0 and at most 1 day, got: %s', coalesce(lease::text, 'NULL')),
      hint = 'Extend it again before that is over.';
  end if;
  state := batch_state(batch_id);
  if state.messages is null or state.final then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  execute format('select b.worker from batch_%s_%s b where b.id = $1', batch_queue(batch_id), batch_segment(batch_id)) into worker using batch_id;
  if worker is null then
    raise exception using
      errcode = 'PQ004',
      message = format('expected batch %s to have been received with a worker''s name', batch_id),
      hint = 'Give receive_messages a name, one of the batch''s own if only this batch is to be kept.';
  end if;
  perform heartbeat(worker, lease);
  -- it may have been taken away meanwhile
  if (batch_state(batch_id)).final then
    perform warn_not_settled(batch_id);
    return 0;
  end if;
  return 1;
end
$$;

-- schema/56_allowance.sql

-- Limits of a consumer: how many of its messages may be in flight, in all its workers together, and how many it may receive in a period.
-- What was received before and is handed out again in its place, of an exclusive or ordered consumer, comes whatever the limits.
-- The rate is a token bucket: rate_limit messages at once, and as many again, evenly, in each rate_period. Its state is a time, kept in the
-- consumer's newest batch rows and so under the cursor's lock: every message moves it on by rate_period / rate_limit, and it may not pass now.

-- How many of max_messages a consumer may receive now. rate_from and rate_step: the bucket's state, and how far one message moves it.
create function receive_allowance(
  queue_id int, consumer_id int, max_messages int, out allowed int, out rate_from timestamptz, out rate_step interval
)
language plpgsql
volatile
set search_path from current
as $$
declare
  settings consumer;
begin
  select c.* into settings from consumer c where c.id = receive_allowance.consumer_id;
  allowed := max_messages;
  if settings.rate_limit is not null then
    rate_step := settings.rate_period / settings.rate_limit;
    select greatest(max(c.rate_until), clock_timestamp() - settings.rate_period) into rate_from from cursors(queue_id, consumer_id) c;
    -- a setting that has changed may have left it later
    rate_from := least(rate_from, clock_timestamp());
    allowed := least(allowed, floor(extract(epoch from clock_timestamp() - rate_from) / extract(epoch from rate_step) + 1e-6))::int;
  end if;
  if settings.max_in_flight is not null then
    allowed := least(allowed, settings.max_in_flight - in_flight(queue_id, consumer_id));
  end if;
  allowed := greatest(allowed, 0);
end
$$;

-- The consumers of a queue that have open batches: in how many, and how many messages are received and not settled. Those of an ordered
-- consumer whose batch waits, or may be handed out again, are in nobody's hands: counted, they would keep themselves from being handed out.
create function open_counts(queue_id int, of_consumer int default null) returns table (consumer_id int, in_flight bigint, open_batches int)
language sql
volatile
set search_path from current
begin atomic
  select c.id,
         coalesce(sum(s.messages - cardinality(s.settled)) filter (
           where case when c.mode = 'ordered' then b.waits_until is null and not can_be_taken_over(b.worker, b.lease_until, b.waits_until) else true end
         ), 0)::bigint,
         count(*)::int
    from open_batches(open_counts.queue_id, open_counts.of_consumer) b
    join consumer c on c.id = b.consumer_id
   cross join lateral batch_state(b.batch_id) s
   group by c.id;
end;

-- How many messages of a consumer are received and not settled.
create function in_flight(queue_id int, consumer_id int) returns bigint
language sql
volatile
set search_path from current
begin atomic
  select coalesce((select o.in_flight from open_counts(in_flight.queue_id, in_flight.consumer_id) o), 0);
end;

-- schema/60_rotate.sql

-- Rotation: moving on to the next segment, and truncating drained ones.
--
-- A segment is drained when every consumer has received every message in it and no open batch starts at or before its last
-- message or lies in it. All checks are index probes.

-- A segment that the pointer may move to: empty, and its truncation or creation has committed. Moved inside the truncating
-- transaction, the pointer would send producers into its ACCESS EXCLUSIVE lock.
create function segment_is_ready(queue_id int, segment int) returns boolean
language sql
volatile
set search_path from current
return segment_bytes(queue_id, segment) = 0 and not is_being_truncated(format('message_%s_%s', queue_id, segment)::regclass);

-- The current segment is full, or has taken inserts for long enough.
create function segment_is_full(queue_id int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  settings queue;
  pointer constant bigint := pg_sequence_last_value(format('segment_pointer_%s', queue_id)::regclass);
  age constant interval := clock_timestamp() - pointer_moved_at(pointer);
  bytes bigint;
begin
  select * into settings from queue q where q.id = queue_id;
  if age < settings.rotation_min_interval then
    return false;
  end if;
  -- not the tables that rotation itself writes to: a queue that rests would rotate for ever
  bytes := segment_bytes(queue_id, pointer_segment(pointer), '{message,outcome}');
  return bytes > 0 and (bytes >= settings.rotation_bytes or age >= settings.rotation_period);
end
$$;

-- Moves the insert pointer when the current segment is full; grows the ring when there is no empty one to move to.
create function move_pointer(queue_id int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  pointer constant bigint := pg_sequence_last_value(format('segment_pointer_%s', queue_id)::regclass);
  segments constant int := segment_count(queue_id);
  next_segment int;
begin
  if not segment_is_full(queue_id) then
    return false;
  end if;
  select s into next_segment
    from generate_series(0, segments - 1) as s
   where s <> pointer_segment(pointer) and segment_is_ready(queue_id, s)
   order by s
   limit 1;
  if next_segment is not null then
    perform setval(format('segment_pointer_%s', queue_id), pointer_to(next_segment));
    return true;
  end if;
  -- at the limit of what a batch id can name, the current segment just goes on growing
  if segments < 1024 then
    perform grow_ring(queue_id, segments);
  end if;
  return false;
end
$$;

-- Adds a segment; the pointer moves to it in a later transaction. Gives up when receivers are in its way.
create function grow_ring(queue_id int, segment int) returns boolean
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
begin
  perform create_segment(queue_id, segment);
  perform generate_functions(queue_id);
  return true;
exception
  when lock_not_available then
    return false;
end
$$;

-- Every consumer, or the one that is named, has received every message in the segment.
create function segment_is_received(queue_id int, segment int, consumer_id int default null) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  received boolean;
begin
  execute format($sql$
    select count(*) > 0 and bool_and(
             -- nothing after the position …
             not exists (
               select from message_%1$s_%2$s m
                where m.lane = p.lane
                  and (m.consumer_id is null or m.consumer_id = p.consumer_id)
                  and (m.txid, m.seq) > %3$s
             )
             -- … and nothing of a transaction that was open when one of the snapshots was taken and is not received yet
             and not exists (
               select from (select pg_snapshot_xip(p.prev) union select pg_snapshot_xip(p.next)) as late(txid)
                 join message_%1$s_%2$s m on m.lane = p.lane and m.txid = late.txid
                where (m.consumer_id is null or m.consumer_id = p.consumer_id)
                  and not (pg_visible_in_snapshot(m.txid, p.next) and (m.txid, m.seq) <= (p.last_txid, p.last_seq))
                  and not pg_visible_in_snapshot(m.txid, p.prev)
             )
           )
      from cursors(%1$s, $1) p
  $sql$, queue_id, segment, main_part_after('p', 'p.prev')) into received using consumer_id;
  return received;
end
$$;

-- No batch that is open lies in the segment or holds a message of it.
create function segment_is_settled(queue_id int, segment int) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  settled boolean;
begin
  execute format($sql$
    select not exists (
      select from open_batches(%1$s) b
       where b.segment = %2$s
          or exists (select from message_%1$s_%2$s m where m.lane = b.lane and (m.txid, m.seq) >= (b.first_txid, b.first_seq))
    )
  $sql$, queue_id, segment) into settled;
  return settled;
end
$$;

-- Until when a segment is kept although everybody is done with it; null: not at all. Its last message says.
create function segment_kept_until(queue_id int, segment int) returns timestamptz
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
declare
  retention constant interval := (select q.retention from queue q where q.id = queue_id);
  last_created_at timestamptz;
begin
  if retention = '0' then
    return null;
  end if;
  execute format($sql$
    select max(m.created_at)
      from generate_series(0, (select lanes from queue where id = %1$s) - 1) as of(lane)
     cross join lateral (
       select m.created_at from message_%1$s_%2$s m where m.lane = of.lane order by m.lane desc, m.txid desc, m.seq desc limit 1
     ) m
  $sql$, queue_id, segment) into last_created_at;
  return case when last_created_at + retention > clock_timestamp() then last_created_at + retention end;
end
$$;

-- Takes ACCESS EXCLUSIVE on all tables of a segment, in the order in which receivers and acks take theirs. At once, or by waiting 10 ms for
-- those who read messages to end; a waiting lock holds up every new reader, so only one of the three is waited for, and after a
-- failed attempt the next one comes later and later, up to 30 s. A sequence counts the attempts of all sessions together:
-- 64 * milliseconds since 1970 of the next attempt + failures so far.
create function lock_segment(queue_id int, segment int) returns boolean
language plpgsql
volatile
set search_path from current
-- as the function's own setting: set_config would leak into the caller
set lock_timeout = '10ms'
as $$
declare
  register constant regclass := format('lock_attempts_%s', queue_id);
  attempts constant bigint := pg_sequence_last_value(register);
  failures constant bigint := least(attempts & 63, 20);
  now_ms constant bigint := extract(epoch from clock_timestamp()) * 1000;
  may_wait constant boolean := now_ms >= attempts >> 6;
begin
  execute format('lock table only outcome_%1$s_%2$s, only batch_%1$s_%2$s in access exclusive mode nowait', queue_id, segment);
  execute format('lock table only message_%s_%s in access exclusive mode %s', queue_id, segment, case when not may_wait then 'nowait' end);
  if failures > 0 then
    perform setval(register, 0);
  end if;
  return true;
exception
  when lock_not_available then
    if may_wait then
      perform setval(register, ((now_ms + least(30000, 250 * (1 << failures::int))) << 6) | (failures + 1));
    end if;
    return false;
end
$$;

-- Truncates one segment if it is drained. True: its space is given back when this transaction commits.
create function truncate_segment(queue_id int, segment int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
begin
  if segment_kept_until(queue_id, segment) is not null then
    return false;
  end if;
  -- in this order: once every consumer has passed the segment, no new batch can hold a message of it
  if not segment_is_received(queue_id, segment) or not segment_is_settled(queue_id, segment) then
    return false;
  end if;
  begin
    if not lock_segment(queue_id, segment) then
      return false;
    end if;
    -- both again, now that nothing is under way in it: somebody may have used an old pointer or subscribed, and what came in late may be
    -- in an open batch by now
    if not segment_is_received(queue_id, segment) or not segment_is_settled(queue_id, segment) then
      -- with the block ends its lock, which would keep receivers and senders waiting until the transaction is over
      raise exception using errcode = 'PQ000', message = 'not drained';
    end if;
  exception
    when sqlstate 'PQ000' then
      return false;
  end;
  perform carry_over(queue_id, segment);
  execute format('truncate only message_%1$s_%2$s, only batch_%1$s_%2$s, only outcome_%1$s_%2$s', queue_id, segment);
  return true;
end
$$;

-- Copies the cursors that still lie in a segment into the current one.
-- The caller holds ACCESS EXCLUSIVE on the segment. The cursors' advisory locks are not taken: a receive whose cursor lies
-- here holds ACCESS SHARE on it from before its first look, so none is under way, and taking them here would deadlock.
create function carry_over(queue_id int, segment int) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', queue_id)::regclass));
begin
  execute format($sql$
    insert into batch_%1$s (
      segment, consumer_id, lane, n, prev_snapshot, next_snapshot, window_n, last_txid, last_seq, messages, exhausted, settled_before, still_open,
      rate_until, expired
    )
    select %3$s, c.consumer_id, c.lane, c.n + 1, c.prev, c.next, c.n + 1, c.last_txid, c.last_seq, 0, c.exhausted,
           (c.settled).settled_before, (c.settled).still_open, c.rate_until, c.expired
      from cursors(%1$s) c
     where c.segment = %2$s
  $sql$, queue_id, segment, current_segment);
end
$$;

-- Truncates the first segment that is drained. Only one: the lock on it is held until the transaction ends. Comes after move_pointer, so
-- that the pointer never moves to a segment that this very transaction truncates.
create function truncate_drained(queue_id int) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', queue_id)::regclass));
  segment int;
begin
  for segment in select s from generate_series(0, segment_count(queue_id) - 1) as s where s <> current_segment loop
    if segment_bytes(queue_id, segment) > 0 and truncate_segment(queue_id, segment) then
      return true;
    end if;
  end loop;
  return false;
end
$$;

-- schema/61_maintain.sql

-- Maintenance has no daemon: every worker calls maintain about once a second, and pg_cron or any scheduler may as well. It is
-- cheap when there is nothing to do, and safe at any rate from any number of sessions: one of them does the work of a queue.

-- So many queues are looked at in one transaction at most: it keeps some twenty locks of each until it ends, and the server has room for
-- some six thousand unless it is told otherwise (max_locks_per_transaction).
create function maintained_at_once_max() returns int
language sql
immutable
return 100;

-- Delivers what has become due, for whatever queue, then recovers and rotates one queue, or without an argument all of them, up to a
-- hundred. Returns the number of things done. A truncation's lock is held until the transaction ends, so it is the last thing done. The
-- queues that were not looked at are for the next call; the order changes, so that none waits for ever. maintain_all does each in a
-- transaction of its own.
create function maintain(queue text default null) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue int;
  segments int;
  done int;
begin
  perform require_read_committed('maintain');
  if queue is not null then
    perform require_queue(queue);
  end if;
  done := rotate_heartbeats() + rotate_dedupe() + rotate_firings();
  if done > 0 then
    -- what was truncated is locked until the transaction ends, for heartbeats, senders and whoever asks who is alive
    return done;
  end if;
  done := maintain_delayed();
  for of_queue in
    select q.id from queue q where maintain.queue is null or q.name = maintain.queue order by random() limit maintained_at_once_max()
  loop
    if pg_try_advisory_xact_lock(lock_key('maintain', of_queue)) then
      segments := segment_count(of_queue);
      done := done + recover(of_queue) + check_lag(of_queue) + move_pointer(of_queue)::int;
      if segment_count(of_queue) > segments then
        -- its receivers wait until the transaction ends
        return done + 1;
      end if;
      if truncate_drained(of_queue) then
        return done + 1;
      end if;
    end if;
  end loop;
  return done;
end
$$;

create function queue_names() returns text[]
language sql
stable
security definer
set search_path from current
begin atomic
  select coalesce(array_agg(q.name order by q.name), '{}') from queue q;
end;

-- Maintains every queue, each in a transaction of its own: for pg_cron, or any scheduler. A procedure that commits has no settings of its
-- own, so the schema is written into it.
do $do$
begin
  execute format('create procedure maintain_all() language plpgsql as %L', format($body$
declare
  of_queue text;
begin
  foreach of_queue in array %1$s.queue_names() loop
    perform %1$s.maintain(of_queue);
    commit;
  end loop;
end
$body$, quote_ident(current_schema())));
end
$do$;

-- Moves the heartbeats' pointer every ten minutes, and truncates a table once every heartbeat in it has run out.
create function rotate_heartbeats() returns int
language plpgsql
volatile
set search_path from current
set lock_timeout = '20ms'
as $$
declare
  pointer bigint;
  next_segment int;
  over boolean;
begin
  if not pg_try_advisory_xact_lock(lock_key('heartbeat', 0)) then
    return 0;
  end if;
  pointer := pg_sequence_last_value('heartbeat_pointer');
  next_segment := (pointer_segment(pointer) + 1) % 3;
  if clock_timestamp() - pointer_moved_at(pointer) < '10 min' then
    return 0;
  end if;
  if pg_relation_size(format('heartbeat_%s', next_segment)::regclass) = 0 and not is_being_truncated(format('heartbeat_%s', next_segment)::regclass) then
    perform setval('heartbeat_pointer', pointer_to(next_segment));
    return 1;
  end if;
  execute format('lock table only heartbeat_%s in access exclusive mode', next_segment);
  execute format('select not exists (select from heartbeat_%s where alive_until >= clock_timestamp())', next_segment) into over;
  if over then
    execute format('truncate only heartbeat_%s', next_segment);
  end if;
  return over::int;
exception
  when lock_not_available then
    return 0;
end
$$;

-- schema/62_rotate_firings.sql

-- Truncates the table of firings that rests, an hour after the last of them has been forgotten: clocks may be set back. The last firing of
-- each schedule is carried over into today's table, so that it is known however rarely the schedule fires. Never waits for its lock: the
-- next call tries again. at: now, except in tests. Returns 1 when it has truncated.
create function rotate_firings(at timestamptz default clock_timestamp()) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := firing_segment(at);
  resting constant int := (current_segment + 2) % 4;
begin
  if pg_relation_size(format('firing_%s', resting)::regclass) = 0
     or firing_segment(at - firing_memory() - interval '1 hour') = resting
     or not pg_try_advisory_xact_lock(lock_key('firings', 0)) then
    return 0;
  end if;
  execute format('lock table only firing_%s in access exclusive mode nowait', resting);
  execute format($sql$
    insert into firing_%2$s (segment, schedule, fire_at, fired_at)
    select %2$s, f.schedule, f.fire_at, f.fired_at
      from schedule s
     cross join lateral (select l.* from firing_%1$s l where l.schedule = s.name order by l.fire_at desc limit 1) f
     where not exists (select from firing o where o.segment <> %1$s and o.schedule = f.schedule and o.fire_at >= f.fire_at)
  $sql$, resting, current_segment);
  execute format('truncate only firing_%s', resting);
  return 1;
exception
  when lock_not_available then
    return 0;
end
$$;

-- schema/70_status.sql

-- What operators and dashboards read. Functions, because every queue has tables of its own; read only, and safe to call at any time.
-- All but queue_status read what they count: call them every few seconds, not in a loop.

-- One row a queue. sent_per_second: since the first message in the current segment, what was delivered late or again included. bytes: on
-- disk, without indexes. delayed: what waits for its time, in all tables.
create function queue_status(queue text default null) returns table (
  queue_name text,
  consumers int,
  segments int,
  current_segment int,
  rotated_at timestamptz,
  sent_per_second float8,
  bytes bigint,
  delayed bigint,
  dead_letters bigint,
  paused boolean
)
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  if queue is not null then
    perform require_queue(queue);
  end if;
  return query
    select q.name, (select count(*)::int from consumer c where c.queue_id = q.id), s.segments, pointer_segment(s.pointer),
           pointer_moved_at(s.pointer), sent_per_second(q.id),
           (select sum(segment_bytes(q.id, n))::bigint from generate_series(0, s.segments - 1) as n),
           delayed_count(q.uid), (select count(*) from dead_letter d where d.queue_id = q.id), q.paused
      from queue q
     cross join lateral (
       select segment_count(q.id) as segments, pg_sequence_last_value(format('segment_pointer_%s', q.id)::regclass) as pointer
     ) s
     where queue_status.queue is null or q.name = queue_status.queue
     order by q.name;
end
$$;

-- The rate at which messages come into the current segment of a queue; 0 when nothing is in it.
create function sent_per_second(queue_id int) returns float8
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', queue_id)::regclass));
  per_second float8;
begin
  execute format($sql$
    select (l.last_value - f.seq + 1) / greatest(extract(epoch from clock_timestamp() - f.created_at), 1)
      from (
        select f.seq, f.created_at
          from generate_series(0, (select lanes from queue where id = %1$s) - 1) as of(lane)
         cross join lateral (select m.seq, m.created_at from message_%1$s_%2$s m where m.lane = of.lane order by m.lane, m.txid, m.seq limit 1) f
         order by f.seq
         limit 1
      ) f,
      message_seq_%1$s l
  $sql$, queue_id, current_segment) into per_second;
  return coalesce(per_second, 0);
end
$$;

-- How many messages of a queue wait for their time.
create function delayed_count(queue_uid bigint) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  source text;
  position record;
  waiting bigint;
  total bigint := 0;
begin
  foreach source in array delayed_tables() loop
    position := delayed_position(source);
    execute format($sql$
      select count(*) from %I d
       where d.queue_uid = $1 and not (pg_visible_in_snapshot(d.txid, $2) and (d.due_at, d.seq) <= ($3, $4))
    $sql$, source) into waiting using queue_uid, position.snapshot, position.due_at, position.seq;
    total := total + waiting;
  end loop;
  return total;
end
$$;

-- One row a consumer. received_per_second: in the last minute. depth: messages that can be received; oldest_at: when the oldest of them was sent. in_flight: received and not
-- settled, in so many open batches. received_at: the last receive that found something. expired: passed over because they
-- had, since the consumer subscribed.
create function consumer_status(queue text default null) returns table (
  queue_name text,
  consumer text,
  depth bigint,
  oldest_at timestamptz,
  in_flight bigint,
  open_batches int,
  received_at timestamptz,
  received_per_second float8,
  expired bigint,
  paused boolean
)
language plpgsql
volatile
security definer
set search_path from current
-- A join by hash would read all messages that are kept, for the few that wait
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  of_queue record;
begin
  if queue is not null then
    perform require_queue(queue);
  end if;
  -- one statement a queue, and every cursor read once: to plan it is most of its cost
  for of_queue in
    select q.id, q.name, q.paused
      from queue q
     where (consumer_status.queue is null or q.name = consumer_status.queue)
       and exists (select from consumer c where c.queue_id = q.id)
     order by q.name
  loop
    return query execute format($sql$
      with place as materialized (
        select * from cursors(%1$s)
      ), waiting as (
        select p.consumer_id, count(*) as depth, min(m.created_at) as oldest_at
          from place p
          join message_%1$s m
            on m.lane = p.lane
           and m.txid >= pg_snapshot_xmin(p.prev)
           and (m.consumer_id is null or m.consumer_id = p.consumer_id)
           and (m.expires_at is null or m.expires_at > clock_timestamp())
           and not pg_visible_in_snapshot(m.txid, p.prev)
           and not (pg_visible_in_snapshot(m.txid, p.next) and (m.txid, m.seq) <= (p.last_txid, p.last_seq))
         group by p.consumer_id
      ), received as (
        select p.consumer_id, max(r.created_at) as received_at, sum(p.expired)::bigint as expired
          from place p
          left join lateral (
            select r.created_at from batch_%1$s r where r.consumer_id = p.consumer_id and r.lane = p.lane and r.id is not null order by r.n desc limit 1
          ) r on true
         group by p.consumer_id
      ), lately as (
        select b.consumer_id, sum(b.messages) / 60.0 as received_per_second
          from batch_%1$s b
         where b.created_at > clock_timestamp() - interval '1 min'
         group by b.consumer_id
      )
      select $1, c.name, coalesce(w.depth, 0), w.oldest_at, coalesce(o.in_flight, 0), coalesce(o.open_batches, 0), r.received_at,
             coalesce(l.received_per_second, 0)::float8, r.expired, c.paused or $2
        from consumer c
        left join waiting w on w.consumer_id = c.id
        left join open_counts(%1$s) o on o.consumer_id = c.id
        left join received r on r.consumer_id = c.id
        left join lately l on l.consumer_id = c.id
       where c.queue_id = %1$s
       order by c.name
    $sql$, of_queue.id) using of_queue.name, of_queue.paused;
  end loop;
end
$$;

-- One row a segment of a queue. waits_for: what keeps its space from being given back, by name; null for the current segment and for
-- empty ones, an empty array for one that the next maintain will truncate.
create function segment_status(queue text) returns table (segment int, is_current boolean, bytes bigint, waits_for text[])
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := require_queue(queue);
  current_number constant int := pointer_segment(pg_sequence_last_value(format('segment_pointer_%s', of_queue)::regclass));
begin
  for segment in select n from generate_series(0, segment_count(of_queue) - 1) as n loop
    is_current := segment = current_number;
    bytes := segment_bytes(of_queue, segment);
    waits_for := case when not is_current and bytes > 0 then segment_blockers(of_queue, segment) end;
    return next;
  end loop;
end
$$;

-- What keeps a segment from being truncated: consumers, and sessions that have held a lock on it for longer than a second.
create function segment_blockers(queue_id int, segment int) returns text[]
language plpgsql
volatile
set search_path from current
as $$
declare
  blockers text[] := '{}';
  reader record;
begin
  if not exists (select from consumer c where c.queue_id = segment_blockers.queue_id) then
    blockers := blockers || 'no consumer has subscribed'::text;
  end if;
  for reader in select c.id, c.name from consumer c where c.queue_id = segment_blockers.queue_id order by c.name loop
    if not segment_is_received(queue_id, segment, reader.id) then
      blockers := blockers || format('consumer %s has not received all of it', quote_ident(reader.name));
    end if;
  end loop;
  if not segment_is_settled(queue_id, segment) then
    blockers := blockers || (
      select array_agg(distinct format('consumer %s has not settled all of it', quote_ident(c.name)))
        from open_batches(queue_id) b
        join consumer c on c.id = b.consumer_id
    );
  end if;
  if segment_kept_until(queue_id, segment) is not null then
    blockers := blockers || format('the retention keeps it until %s', segment_kept_until(queue_id, segment));
  end if;
  return blockers || array(
    select case when l.pid is null
             then format('prepared transaction %s holds a lock on it', quote_literal(x.gid))
             else format('process %s (%s) holds a lock on it since %s', l.pid, coalesce(nullif(a.application_name, ''), a.usename, '?'), a.xact_start)
           end
      from (
        select distinct k.pid, k.virtualtransaction
          from pg_locks k
         where k.locktype = 'relation' and k.granted
           and k.database = (select d.oid from pg_database d where d.datname = current_database())
           and k.relation = any (array(select to_regclass(format('%s_%s_%s', kind, queue_id, segment)) from unnest('{message,batch,outcome}'::text[]) as kind)::oid[])
      ) l
      left join pg_stat_activity a on a.pid = l.pid
      -- the lock on its own transaction id says which one a prepared transaction is
      left join pg_locks own on l.pid is null and own.pid is null and own.locktype = 'transactionid' and own.virtualtransaction = l.virtualtransaction
      left join pg_prepared_xacts x on x.transaction = own.transactionid
     where l.pid is distinct from pg_backend_pid()
       and (l.pid is null or a.xact_start < clock_timestamp() - interval '1 s')
     order by l.pid
  );
end
$$;

-- Workers that are alive, the one that has been heard of last first.
create function worker_status() returns table (worker text, alive_until timestamptz)
language sql
volatile
security definer
set search_path from current
begin atomic
  select h.worker, max(h.alive_until) as alive_until
    from heartbeat h
   where h.alive_until >= clock_timestamp()
   group by h.worker
   order by 2 desc;
end;

-- schema/71_find_message.sql

-- Everything that is still known of one message: for the person who is asked what has become of it. Messages have no index by id, which would
-- cost every send, so this reads what the queue's segments keep, the dead letters of the queue and what is delayed. It writes nothing and
-- takes ACCESS SHARE alone; all that it says is of one moment.

-- One place where a message is. Which columns have something depends on the state:
--   waiting    for its consumer to receive it; null: for whoever subscribes first. due_at: its lane waits until then for one that is tried again or snoozed
--   in_flight  received, in this open batch of this worker, whose lease ends then, its last heartbeat counted
--   delayed    sent for a later time, due_at
--   retrying   failed or snoozed, and handed out again at due_at; the reason is kept with dead letters alone
--   dead       its attempts were used up, or it was buried. dead_letter_id is what redrive and purge_dead_letters take
--   settled    nothing is left to do: acked, or given back and since then received again or purged
--   expired    not delivered, its time had come
--   passed     the consumer is past it, and nothing else is known: settled long ago, or sent before the consumer subscribed
create type found_message as (
  state text,
  consumer text,
  attempt int,
  batch_id bigint,
  worker text,
  leased_until timestamptz,
  settled_at timestamptz,
  due_at timestamptz,
  died_at timestamptz,
  reason text,
  dead_letter_id bigint,
  type text,
  payload text,
  headers jsonb,
  created_at timestamptz,
  expires_at timestamptz,
  -- null on a queue that has none
  priority int,
  key text
);

-- Everything known of a message, one row for each consumer and place: see found_message. What is settled, expired or passed is said of a consumer
-- that has the message nowhere else, once. No row: nothing is known, it was never sent, or is settled by all and its segment truncated.
-- Errors: PQ001 no such queue, PQ004 no id.
create function find_message(queue text, message_id bigint) returns setof found_message
language plpgsql
stable
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue constant int := require_queue(queue);
begin
  perform require_home();
  if message_id is null then
    raise exception using errcode = 'PQ004', message = 'expected a message id, got: NULL', hint = 'send and receive return it.';
  end if;
  return query
    with place as materialized (
      select * from find_in_segments(of_queue, find_message.message_id)
      union all
      select * from find_delayed(of_queue, find_message.message_id)
      union all
      select * from find_dead(of_queue, find_message.message_id)
    ),
    over as (
      select distinct on (p.consumer) p.*
        from place p
        join unnest('{expired,settled,passed}'::text[]) with ordinality as s(state, rank) using (state)
       order by p.consumer, s.rank, p.settled_at desc
    ),
    alive as (
      select p.* from place p where p.state not in ('expired', 'settled', 'passed')
    )
    select * from alive
    union all
    select o.* from over o where not exists (select from alive a where a.consumer is not distinct from o.consumer)
    order by consumer, attempt;
end
$$;

-- In the segments: a row for each consumer that the message, or a retry of it, is for.
create function find_in_segments(queue_id int, message_id bigint) returns setof found_message
language plpgsql
stable
set search_path from current
set jit = off
as $$
begin
  return query execute format($sql$
    with message as materialized (
      select m.*, m.expires_at <= clock_timestamp() as is_expired from message_%1$s m where m.id = $2
    ),
    reader as (
      select m.*, p.consumer_id as reader_id, c.name as consumer,
             pg_visible_in_snapshot(m.txid, p.prev)
               or (pg_visible_in_snapshot(m.txid, p.next) and (m.txid, m.seq) <= (p.last_txid, p.last_seq)) as is_received
        from message m
        join (%2$s) p on p.lane = m.lane and (m.consumer_id is null or m.consumer_id = p.consumer_id)
        join consumer c on c.id = p.consumer_id
    )
    select case
             when r.is_received is not true or b.id is null
               then case when r.is_expired then 'expired' when r.is_received then 'passed' else 'waiting' end
             when b.settled_at is not null then 'settled'
             when b.waits_until is null then 'in_flight'
             when b.attempt > 1 then 'retrying'
             else 'waiting'
           end,
           r.consumer, coalesce(b.attempt, r.attempt)::int, b.id, b.worker,
           case when b.settled_at is null and b.waits_until is null
             then greatest(b.lease_until, (select max(h.alive_until) from heartbeat h where h.worker = b.worker))
           end,
           b.settled_at, case when b.settled_at is null then b.waits_until end, null::timestamptz, null::text, null::bigint,
           r.type, r.payload, r.headers, r.created_at, r.expires_at, case when q.lane_by = 'priority' then r.lane::int end, r.key
      from (
        select * from reader
        union all
        select m.*, null, null, false from message m
         where m.consumer_id is null and not exists (select from consumer c where c.queue_id = %1$s)
      ) r
      join queue q on q.id = %1$s
      left join lateral (%3$s) b on r.is_received
  $sql$, queue_id, cursors_query(queue_id), newest_batch_query(queue_id)) using null::int, message_id;
end
$$;

-- The newest batch of a consumer that holds a message, given as r, a row of its table with reader_id: its attempt there, and since when
-- the batch, or the message in it, is settled. What batch_messages finds for a batch, the other way round.
create function newest_batch_query(queue_id int) returns text
language sql
immutable
return format($sql$
        select b.id, b.worker, b.lease_until, b.waits_until, coalesce(b.rest_attempts[array_position(b.rest_ids, r.id)], r.attempt) as attempt,
               (select min(o.created_at) from outcome_%1$s o where o.segment = b.segment and o.batch_id = b.id and (o.final or r.id = any (o.message_ids))) as settled_at
          from batch_%1$s b
          join batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
         where b.consumer_id = r.reader_id and b.lane = r.lane and b.id is not null
           and (r.txid, r.seq) >= (b.first_txid, b.first_seq) and (r.txid, r.seq) <= (b.last_txid, b.last_seq)
           and pg_visible_in_snapshot(r.txid, w.next_snapshot) and not pg_visible_in_snapshot(r.txid, w.prev_snapshot)
           and case when b.rest_ids is null then (r.expires_at <= b.created_at) is not true else r.id = any (b.rest_ids) end
         order by b.n desc
         limit 1
$sql$, queue_id);

-- Among what is delayed, sent so or to be tried again.
create function find_delayed(queue_id int, message_id bigint) returns setof found_message
language plpgsql
stable
set search_path from current
as $$
declare
  source text;
  moved record;
begin
  foreach source in array delayed_tables() loop
    moved := delayed_position(source);
    return query execute format($sql$
      select case when d.consumer_id is null then 'delayed' else 'retrying' end, c.name, d.attempt::int, null::bigint, null::text, null::timestamptz,
             null::timestamptz, d.due_at, null::timestamptz, null::text, null::bigint,
             d.type, d.payload, d.headers, d.created_at, d.expires_at, case when q.lane_by = 'priority' then d.lane::int end, d.key
        from %I d
        join queue q on q.uid = d.queue_uid
        left join consumer c on c.id = d.consumer_id
       where q.id = $1 and d.id = $2
         and not (pg_visible_in_snapshot(d.txid, $3) and (d.due_at, d.seq) <= ($4, $5))
         -- a retry for a consumer that is gone is for nobody
         and (d.consumer_id is null or c.id is not null)
    $sql$, source) using queue_id, message_id, moved.snapshot, moved.due_at, moved.seq;
  end loop;
end
$$;

-- Among the dead letters.
create function find_dead(queue_id int, message_id bigint) returns setof found_message
language sql
stable
set search_path from current
begin atomic
  select 'dead', d.consumer, d.attempt, null::bigint, null::text, null::timestamptz, null::timestamptz, null::timestamptz, d.died_at, d.reason, d.id,
         d.type, d.payload, d.headers, d.created_at, null::timestamptz, case when q.lane_by = 'priority' then d.lane::int end, d.key
    from dead_letter d
    join queue q on q.id = d.queue_id
   where d.queue_id = find_dead.queue_id and d.message_id = find_dead.message_id;
end;

-- schema/72_peek.sql

-- Looking at messages without receiving them. Nothing is written, nothing is locked but ACCESS SHARE; all that one call says is of one moment.
--
-- A page is read by index, whatever lies behind it: as many index entries as messages, and in each lane and segment a look. What makes it
-- read more is what it has to pass over: retries of other consumers, what has expired, and, of the delayed messages, which are stored together,
-- those of other queues.

-- A message that is looked at. due_at: it is delayed until then; null: it is not. consumer: it is for that one alone; null: for all.
-- position: give it as after to peek, to look at what comes behind.
create type peeked_message as (
  message_id bigint,
  attempt int,
  consumer text,
  due_at timestamptz,
  type text,
  payload text,
  headers jsonb,
  created_at timestamptz,
  expires_at timestamptz,
  -- null on a queue that has none
  priority int,
  key text,
  "position" text
);

-- Looks at up to max_messages (1 to 1000, default 10) messages, from the position after on (one that peek has returned; null: from the beginning).
-- With a consumer: what it has not received and what has not expired, in the order in which it would: higher priorities first, and lane by lane
-- where it takes turns. What is in an open batch has been received: see find_message. Without a consumer: everything that is kept, whoever
-- has received it, the oldest first. Then what is delayed, in the order in which it becomes due.
-- Errors: PQ001 no such queue, PQ002 no such consumer, PQ004 an argument out of range.
create function peek(queue text, consumer text default null, after text default null, max_messages int default 10) returns setof peeked_message
language plpgsql
stable
security definer
set search_path from current
as $$
#variable_conflict use_variable
declare
  of_queue constant int := require_queue(queue);
  reader constant int := case when consumer is not null then require_consumer(of_queue, consumer) end;
  place constant record := peek_position(after);
  looked_at int := 0;
begin
  perform require_home(), check_max_messages(max_messages, 1000);
  if place.source is null then
    return query select * from peek_segments(of_queue, reader, place.lane, place.txid, place.seq, max_messages);
    get diagnostics looked_at = row_count;
  end if;
  return query
    select (d.message).*
      from unnest(delayed_tables()) with ordinality as t(source, n)
     cross join lateral peek_delayed(
       of_queue, reader, t.source, t.n::int, coalesce(place.due_at, '-infinity'),
       case when t.n < place.source then 9223372036854775807 when t.n = place.source then place.seq else -1 end, max_messages - looked_at
     ) d
     order by (d.message).due_at, t.n, d.seq
     limit max_messages - looked_at;
end
$$;

-- What a position says: the lane and the (txid, seq) of a message in the segments, 3.1234.77, or the number of a delayed table, the time in
-- microseconds and the seq there, delayed.1.1767225600000000.5.
create function peek_position(
  "position" text, out lane int, out txid xid8, out seq bigint, out source int, out due_at timestamptz
)
language plpgsql
immutable
set search_path from current
as $$
declare
  parts text[];
begin
  if "position" is null then
    return;
  end if;
  if "position" ~ '^[0-9]{1,4}\.[0-9]{1,19}\.[0-9]{1,19}$' then
    parts := string_to_array("position", '.');
    lane := parts[1]::int;
    txid := parts[2]::xid8;
    seq := parts[3]::bigint;
    return;
  elsif "position" ~ '^delayed\.[1-4]\.-?[0-9]{1,16}\.[0-9]{1,19}$' then
    parts := string_to_array("position", '.');
    source := parts[2]::int;
    due_at := 'epoch'::timestamptz + parts[3]::bigint * interval '1 microsecond';
    seq := parts[4]::bigint;
    return;
  end if;
  raise exception numeric_value_out_of_range;
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected after to be a position that peek has returned, got: %L', left("position", 100)),
      hint = 'Leave it out to begin with the first message.';
end
$$;

-- What lies in the segments, for everybody or for one consumer. lane, txid and seq: where to go on from; null: from the beginning.
create function peek_segments(queue_id int, consumer_id int, lane int, txid xid8, seq bigint, max_messages int) returns setof peeked_message
language plpgsql
stable
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
begin
  return query execute format($sql$
    select m.id, m.attempt::int, c.name, null::timestamptz, m.type, m.payload, m.headers, m.created_at, m.expires_at,
           case when q.lane_by = 'priority' then m.lane::int end, m.key, format('%%s.%%s.%%s', m.lane, m.txid, m.seq)
      from (%1$s) m
     cross join (select q.lane_by from queue q where q.id = %2$s) q
      left join consumer c on c.id = m.consumer_id
     order by m.turn, m.is_next, m.txid, m.seq
  $sql$, case when consumer_id is null then kept_messages(queue_id) else unreceived_messages(queue_id) end, queue_id)
    using consumer_id, max_messages, lane, coalesce(txid, '0'), coalesce(seq, -1);
end
$$;

-- The query for a page of everything that is kept. $2: how many, $4 and $5: after which (txid, seq).
create function kept_messages(queue_id int) returns text
language sql
immutable
return format($sql$
      select m.*, 0 as turn, false as is_next
        from (select q.lanes from queue q where q.id = %1$s) q
       cross join generate_series(0, q.lanes - 1) as l(lane)
       cross join lateral (
         select *
           from message_%1$s m
          where m.lane = l.lane
            and (m.txid, m.seq) > ($4, $5)
            -- a retry for a consumer that is gone is for nobody
            and (m.consumer_id is null or exists (select from consumer c where c.id = m.consumer_id))
          order by m.lane, m.txid, m.seq
          limit $2
       ) m
       order by m.txid, m.seq
       limit $2
$sql$, queue_id);

-- The query for a page of what a consumer has not received. $1: the consumer, $2: how many, $3, $4 and $5: after which lane and (txid, seq) in it.
-- First comes what is left of the window, then what a new one would hold, each with its late messages first: see 40_receive.sql. Where to
-- go on is told by the cursor of the moment, so a page goes on rightly too where the consumer has received meanwhile.
create function unreceived_messages(queue_id int) returns text
language sql
stable
set search_path from current
begin atomic
  select format($sql$
      select m.*, p.turn
        from (select p.*, %3$s as turn, coalesce(p.lane = $3, false) as goes_on from (%2$s) p) p
       cross join lateral (select case when p.goes_on then $4 else '0' end as last_txid, case when p.goes_on then $5 else -1 end as last_seq) f
       cross join lateral (select not pg_visible_in_snapshot(f.last_txid, p.next) as is_next) g
        -- after which message in what is left of the window, …
       cross join lateral (
         select case when (f.last_txid, f.last_seq) > (p.last_txid, p.last_seq) then f.last_txid else p.last_txid end as last_txid,
                case when (f.last_txid, f.last_seq) > (p.last_txid, p.last_seq) then f.last_seq else p.last_seq end as last_seq
       ) w
        -- … and in what a new one would hold
       cross join lateral (
         select case when g.is_next then f.last_txid else '0' end as last_txid, case when g.is_next then f.last_seq else -1 end as last_seq
       ) x
       cross join lateral (
         (
           select false as is_next, m.*
             from pg_snapshot_xip(p.prev) as late(txid)
            cross join lateral (%4$s and m.txid = late.txid and (m.txid, m.seq) > (w.last_txid, w.last_seq) %5$s) m
            where not g.is_next and not p.exhausted and late.txid >= w.last_txid and pg_visible_in_snapshot(late.txid, p.next)
         )
         union all
         (
           select false, m.* from (
             %4$s and (m.txid, m.seq) > %6$s and m.txid < pg_snapshot_xmax(p.next) and pg_visible_in_snapshot(m.txid, p.next) %5$s
           ) m
            where not g.is_next and not p.exhausted
         )
         union all
         (
           select true, m.*
             from pg_snapshot_xip(p.next) as late(txid)
            cross join lateral (%4$s and m.txid = late.txid and (m.txid, m.seq) > (x.last_txid, x.last_seq) %5$s) m
            where late.txid >= x.last_txid
         )
         union all
         (select true, m.* from (%4$s and (m.txid, m.seq) > %7$s %5$s) m)
       ) m
       where $3 is null or p.turn >= %8$s
       order by p.turn, m.is_next, m.txid, m.seq
       limit $2
    $sql$, q.id, cursors_query(q.id), case when q.lane_by = 'priority' then '-p.lane' else 'p.lane' end,
    format('select * from message_%s m where m.lane = p.lane', q.id),
    'and (m.consumer_id is null or m.consumer_id = $1) and (m.expires_at is null or m.expires_at > clock_timestamp())'
      || ' order by m.lane, m.txid, m.seq limit $2',
    main_part_after('w', 'p.prev'), main_part_after('x', 'p.next'), case when q.lane_by = 'priority' then '-$3' else '$3' end)
    from queue q
   where q.id = unreceived_messages.queue_id;
end;

-- What waits in one table of delayed messages, for everybody or for one consumer, after (due_at, seq). n: the number of the table.
create function peek_delayed(
  queue_id int, consumer_id int, source text, n int, after_due_at timestamptz, after_seq bigint, max_messages int
) returns table (seq bigint, message peeked_message)
language plpgsql
stable
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
declare
  moved constant record := delayed_position(source);
  wanted constant text := $sql$
    d.queue_uid = (select q.uid from queue q where q.id = $1)
    and case when $2 is null then d.consumer_id is null or exists (select from consumer c where c.id = d.consumer_id)
          else (d.consumer_id is null or d.consumer_id = $2) and (d.expires_at is null or d.expires_at > clock_timestamp()) end
  $sql$;
begin
  return query execute format($sql$
    select d.seq, row(
             d.id, d.attempt::int, c.name, d.due_at, d.type, d.payload, d.headers, d.created_at, d.expires_at,
             case when q.lane_by = 'priority' then d.lane::int end, d.key,
             format('delayed.%%s.%%s.%%s', $9, (extract(epoch from d.due_at) * 1000000)::bigint, d.seq)
           )::peeked_message
      from (
        (
          select d.* from %1$I d
           where (d.due_at, d.seq) > (greatest($6, $3), case when $6 > $3 then $7 when $6 < $3 then $4 else greatest($7, $4) end) and %2$s
           order by d.due_at, d.seq
           limit $5
        )
        union all
        -- what was not visible yet when the table was moved up to there
        select d.* from pg_snapshot_xip($8) as late(txid) join %1$I d on d.txid = late.txid
         where (d.due_at, d.seq) <= ($6, $7) and (d.due_at, d.seq) > ($3, $4) and %2$s
        union all
        select d.* from %1$I d
         where d.txid >= pg_snapshot_xmax($8) and (d.due_at, d.seq) <= ($6, $7) and (d.due_at, d.seq) > ($3, $4) and %2$s
      ) d
     cross join (select q.lane_by from queue q where q.id = $1) q
      left join consumer c on c.id = d.consumer_id
     order by d.due_at, d.seq
     limit $5
  $sql$, source, wanted)
    using queue_id, consumer_id, after_due_at, after_seq, max_messages, moved.due_at, moved.seq, moved.snapshot, n;
end
$$;

-- schema/73_follow.sql

-- Looking at what is sent while it is sent, without receiving it. Nothing is written, nothing is locked but ACCESS SHARE, nothing waits for who
-- looks: what was received by all and truncated before it was looked at is not shown.
--
-- Messages cannot be followed by their place in the log: a transaction that began earlier may commit later, and its messages lie before what has
-- been shown. So who follows keeps a snapshot, as a cursor does: what it did not see and the next one does is new.

-- The messages that became visible after a position, the oldest first, and the position to go on from. after null: the last messages that are
-- kept, to begin with. Retries are not shown, they are one consumer's; a delayed message is once it has become due. When there are
-- max_messages (1 to 1000) call again, there may be more. Errors: PQ001 no such queue, PQ004 an argument out of range.
create function follow(
  queue text, after text default null, max_messages int default 100, out "position" text, out messages peeked_message[]
)
language plpgsql
stable
security definer
set search_path from current
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
#variable_conflict use_variable
declare
  of_queue constant int := require_queue(queue);
  place constant record := follow_position(after);
  until constant pg_snapshot := coalesce(place.until, snapshot_now());
  last_place text;
begin
  perform require_home(), check_max_messages(max_messages, 1000);
  execute format($sql$
    select coalesce(array_agg(
             row(
               m.id, m.attempt::int, null::text, null::timestamptz, m.type, m.payload, m.headers, m.created_at, m.expires_at,
               case when m.lane_by = 'priority' then m.lane::int end, m.key, format('%%s.%%s.%%s', m.lane, m.txid, m.seq)
             )::peeked_message
             order by m.txid, m.seq
           ), '{}'),
           case when count(*) = $1 then (array_agg(format('%%s.%%s', m.txid, m.seq) order by m.txid desc, m.seq desc))[1] end
      from (
        select q.lane_by, m.*
          from queue q
         cross join generate_series(0, q.lanes - 1) as l(lane)
         cross join lateral (%2$s) m
         where q.id = %1$s
         order by m.txid %3$s, m.seq %3$s
         limit $1
      ) m
  $sql$, of_queue, case when after is null then last_messages(of_queue) else messages_between(of_queue) end, case when after is null then 'desc' else '' end)
    into messages, last_place using max_messages, place.since, until, coalesce(place.txid, '0'), coalesce(place.seq, -1);
  "position" := case when after is null or last_place is null then until::text else concat_ws('/', place.since, until, last_place) end;
end
$$;

-- What a position says: the snapshot of which everything has been shown, 812:815:813; while a page after it was full also the next one, and
-- the (txid, seq) of the last message that was shown, 812:815:813/820:820:/817.5.
create function follow_position(
  "position" text, out since pg_snapshot, out until pg_snapshot, out txid xid8, out seq bigint
)
language plpgsql
immutable
set search_path from current
as $$
declare
  parts constant text[] := string_to_array("position", '/');
begin
  if "position" is null then
    return;
  elsif cardinality(parts) not in (1, 3) then
    raise exception numeric_value_out_of_range;
  end if;
  since := parts[1]::pg_snapshot;
  if cardinality(parts) = 3 then
    until := parts[2]::pg_snapshot;
    txid := split_part(parts[3], '.', 1)::xid8;
    seq := split_part(parts[3], '.', 2)::bigint;
  end if;
exception
  when data_exception then
    raise exception using
      errcode = 'PQ004',
      message = format('expected after to be a position that follow has returned, got: %L', left("position", 100)),
      hint = 'Leave it out to begin with the last messages.';
end
$$;

-- The query for the last messages of a lane. $1: how many, $3: the snapshot that sees them.
create function last_messages(queue_id int) returns text
language sql
immutable
return format($sql$
  select m.* from message_%1$s m
   where m.lane = l.lane and m.consumer_id is null and pg_visible_in_snapshot(m.txid, $3)
   order by m.lane desc, m.txid desc, m.seq desc
   limit $1
$sql$, queue_id);

-- The query for a page of what $3 sees of a lane and $2 did not. $1: how many, $4 and $5: after which (txid, seq).
create function messages_between(queue_id int) returns text
language sql
immutable
return format($sql$
  select m.*
    from pg_snapshot_xip($2) as late(txid)
   cross join lateral (
     select * from message_%1$s m
      where m.lane = l.lane and m.txid = late.txid and (m.txid, m.seq) > ($4, $5) and m.consumer_id is null and pg_visible_in_snapshot(m.txid, $3)
      order by m.lane, m.txid, m.seq
      limit $1
   ) m
  union all
  (
    select * from message_%1$s m
     where m.lane = l.lane
       and (m.txid, m.seq) > (case when $4 < pg_snapshot_xmax($2) then pg_snapshot_xmax($2) else $4 end, case when $4 < pg_snapshot_xmax($2) then -1 else $5 end)
       and m.txid < pg_snapshot_xmax($3)
       and m.consumer_id is null
       and pg_visible_in_snapshot(m.txid, $3)
     order by m.lane, m.txid, m.seq
     limit $1
  )
$sql$, queue_id);

-- schema/73_neglect.sql

-- What shows that nobody calls maintain, or that the schema is not this cluster's: for `pgque doctor`. Read only.

-- Heartbeats' tables are moved on every ten minutes by whoever calls maintain, and by nobody else. So the time of the last move says when
-- maintenance was seen, some ten minutes more or less.
--
-- is_home: the stored transaction ids are this cluster's; false: repair() is needed. seen_at: above. overdue_since: since when the first
-- delayed message that has not been delivered has been due; null: none is.
create function maintenance_status(out is_home boolean, out seen_at timestamptz, out overdue_since timestamptz)
language plpgsql
volatile
security definer
set search_path from current
set enable_seqscan = off
as $$
declare
  source text;
  position record;
  due_at timestamptz;
begin
  is_home := is_marked();
  seen_at := pointer_moved_at(pg_sequence_last_value('heartbeat_pointer'));
  foreach source in array delayed_tables() loop
    position := delayed_position(source);
    execute format($sql$
      select d.due_at from %I d where (d.due_at, d.seq) > ($1, $2) and d.due_at < clock_timestamp() order by d.due_at, d.seq limit 1
    $sql$, source) into due_at using position.due_at, position.seq;
    overdue_since := least(overdue_since, due_at);
  end loop;
end
$$;

-- One row a shared consumer that has batches whose lease has ended and whose worker is not alive: the next maintain gives their messages
-- back, so they are seen only where nobody calls it. lost_since: when the first of these leases ended.
create function lost_batches() returns table (queue_name text, consumer text, batches int, lost_since timestamptz)
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  return query
    select q.name, c.name, count(*)::int, min(b.lease_until)
      from queue q
     cross join lateral open_batches(q.id) b
      join consumer c on c.id = b.consumer_id
     where c.mode = 'shared'
       and b.lease_until < clock_timestamp()
       and (b.worker is null or not is_alive(b.worker))
     group by q.name, c.name
     order by q.name, c.name;
end
$$;

-- schema/80_pgque_names.sql

-- PgQue's names for what this schema does, so that its clients work unchanged. Where it is safer than there: receive puts into the batch
-- only what it returns, and a message is visible as soon as its transaction has committed, without a tick.

create function insert_event(queue_name text, ev_type text, ev_data text) returns bigint
language sql
return send(queue_name, ev_type, ev_data, null);

create function register_consumer(queue_name text, consumer_name text) returns int
language sql
return subscribe(queue_name, consumer_name);

create function unregister_consumer(queue_name text, consumer_name text) returns int
language sql
return unsubscribe(queue_name, consumer_name);

create function finish_batch(batch_id bigint) returns int
language sql
return ack(batch_id);

create function event_retry(batch_id bigint, event_id bigint, retry_seconds int) returns int
language sql
return nack(batch_id, array[event_id], make_interval(secs => retry_seconds));

create function maint() returns int
language sql
return maintain();

-- Delivers what has become due.
create function maint_retry_events() returns int
language sql
security definer
set search_path from current
return maintain_delayed();

-- There are no ticks. What schedules them goes on working: the number of queues, …
create function ticker() returns bigint
language sql
return cardinality(queue_names())::bigint;

-- … no tick made, …
create function ticker(queue_name text) returns bigint
language plpgsql
security definer
set search_path from current
as $$
begin
  perform require_queue(queue_name);
  return null;
end
$$;

-- … and where the queue stands: a number that grows with what is sent.
create function force_next_tick(queue_name text) returns bigint
language sql
security definer
set search_path from current
return coalesce(pg_sequence_last_value(format('message_seq_%s', require_queue(queue_name))::regclass), 0);

create function force_tick(queue_name text) returns bigint
language sql
return force_next_tick(queue_name);

-- schema/81_subconsumer.sql

-- Subconsumers: PgQue's name for the workers of a shared consumer. One needs no registration here; what was registered is the consumer.
-- Like an exclusive consumer, a subconsumer that asks again is given what is left of its open batch.

-- Registers the consumer, shared, unless it is there. 1 new, 0 exists.
create function subscribe_subconsumer(queue text, consumer text, subconsumer text, caller caller default current_user) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform receivable_queue(caller, queue), check_name('subconsumer', subconsumer);
  return subscribe(queue, consumer, '{"mode": "shared"}');
end
$$;

-- The open batch of a subconsumer again, or the next one. dead_interval: how long the batch is its alone without a touch_subconsumer; null:
-- a week, the longest lease there is.
create function receive_coop(
  queue text, consumer text, subconsumer text, max_return int default 100, dead_interval interval default null, caller caller default current_user
) returns setof message
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
  reader constant int := require_consumer(of_queue, consumer);
  open bigint;
begin
  perform require_read_committed('receive_coop');
  perform check_name('subconsumer', subconsumer);
  select b.batch_id into open from open_batches(of_queue, reader) b where b.worker = subconsumer limit 1;
  if open is not null then
    return query
      select m.message_id, open, m.type, m.payload, nullif(m.attempt - 1, 0), m.created_at, null::text, null::text, null::text, null::text
        from batch_messages(open) m
       where m.message_id <> all ((batch_state(open)).settled);
    return;
  end if;
  return query
    select r.message_id, r.batch_id, r.type, r.payload, nullif(r.attempt - 1, 0), r.created_at, null::text, null::text, null::text, null::text
      from receive_messages(queue, consumer, subconsumer, max_return, coalesce(dead_interval, '7 days')) r;
end
$$;

-- Keeps the batches of a subconsumer its own for another dead_interval.
create function touch_subconsumer(
  queue text, consumer text, subconsumer text, dead_interval interval default '1 min', caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  perform require_consumer(receivable_queue(caller, queue), consumer);
  perform heartbeat(subconsumer, dead_interval);
  return 1;
end
$$;

-- A subconsumer leaves: 1, or 0 when it has no open batch. batch_handling: what becomes of one; 0: an error, 1: given back to the others.
create function unsubscribe_subconsumer(
  queue text, consumer text, subconsumer text, batch_handling int default 0, caller caller default current_user
) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := receivable_queue(caller, queue);
  reader constant int := require_consumer(of_queue, consumer);
  open bigint[];
begin
  if (batch_handling in (0, 1)) is not true then
    raise exception using errcode = 'PQ004', message = format('expected batch_handling to be 0 (refuse) or 1 (give back), got: %s', coalesce(batch_handling::text, 'NULL'));
  end if;
  open := array(select b.batch_id from open_batches(of_queue, reader) b where b.worker = subconsumer);
  if cardinality(open) = 0 then
    return 0;
  end if;
  if batch_handling = 0 then
    raise exception using
      errcode = 'PQ004',
      message = format('subconsumer %s has an open batch: %s', quote_literal(subconsumer), array_to_string(open, ', ')),
      hint = 'Finish it first, or give it back with batch_handling => 1.';
  end if;
  perform settle(o.id, release_ids => array(select m.message_id from batch_messages(o.id) m)) from unnest(open) as o(id);
  return 1;
end
$$;

-- schema/82_info.sql

-- What PgQue's clients and dashboards read: its column names, and ours behind them. Ticks are none, so what counts them is null.

create function get_queue_info(queue_name text default null) returns table (
  queue_name text,
  queue_ntables int,
  queue_cur_table int,
  queue_rotation_period interval,
  queue_switch_time timestamptz,
  queue_external_ticker boolean,
  queue_ticker_paused boolean,
  queue_ticker_max_count int,
  queue_ticker_max_lag interval,
  queue_ticker_idle_period interval,
  ticker_lag interval,
  ev_per_sec float8,
  ev_new bigint,
  last_tick_id bigint,
  consumers int,
  bytes bigint,
  delayed bigint,
  dead_letters bigint
)
language sql
volatile
security definer
set search_path from current
begin atomic
  select s.queue_name, s.segments, s.current_segment, q.rotation_period, s.rotated_at, false, false, null::int, null::interval,
         null::interval, interval '0', s.sent_per_second, 0::bigint, null::bigint, s.consumers, s.bytes, s.delayed, s.dead_letters
    from queue_status(get_queue_info.queue_name) s
    join queue q on q.name = s.queue_name
   order by s.queue_name;
end;

-- lag: how long ago the oldest message was sent that can be received. current_batch: the oldest open one.
create function get_consumer_info(queue_name text default null, consumer_name text default null) returns table (
  queue_name text,
  consumer_name text,
  lag interval,
  last_seen interval,
  last_tick bigint,
  current_batch bigint,
  next_tick bigint,
  pending_events bigint,
  mode text,
  in_flight bigint,
  open_batches int
)
language sql
volatile
security definer
set search_path from current
begin atomic
  select s.queue_name, s.consumer, coalesce(clock_timestamp() - s.oldest_at, '0'), clock_timestamp() - s.received_at, null::bigint,
         (select b.batch_id from open_batches(q.id, c.id) b limit 1), null::bigint, s.depth, c.mode, s.in_flight, s.open_batches
    from consumer_status(get_consumer_info.queue_name) s
    join queue q on q.name = s.queue_name
    join consumer c on c.queue_id = q.id and c.name = s.consumer
   where get_consumer_info.consumer_name is null
      or s.consumer = get_consumer_info.consumer_name
   order by s.queue_name, s.consumer;
end;

-- What is installed and how it does, a line each: component, status (ok, info or warning) and detail.
create function status() returns table (component text, status text, detail text)
language sql
volatile
security definer
set search_path from current
begin atomic
  select 'pgque', 'info', version()
  union all
  select 'postgresql', 'info', current_setting('server_version')
  union all
  select 'maintenance', case when overdue > 0 then 'warning' else 'ok' end,
         case when overdue > 0
           then overdue || ' queues have not rotated in twice their period: does something call maintain()?'
           else 'no queue is overdue'
         end
    from (
      select count(*) as overdue
        from queue_status() s
        join queue q on q.name = s.queue_name
       where s.sent_per_second > 0 and s.rotated_at < clock_timestamp() - 2 * q.rotation_period
    ) late
  union all
  select 'roles', r.status, r.detail
    from roles_of_schema() r
  union all
  select 'queue ' || s.queue_name, 'info',
         format('%s consumers, %s segments, %s, %s delayed, %s dead letters', s.consumers, s.segments, pg_size_pretty(s.bytes), s.delayed, s.dead_letters)
    from queue_status() s;
end;

-- schema/83_dead_letter_names.sql

-- PgQue's names for dead letters, on top of dead_letters, redrive and purge_dead_letters.

-- The dead letters of a queue, newest first, as they are stored.
create function dlq_inspect(queue text, limit_count int default 100) returns setof dead_letter
language sql
stable
security definer
set search_path from current
begin atomic
  select d.*
    from dead_letter d
   where d.queue_id = require_queue(dlq_inspect.queue)
   order by d.id desc
   limit limit_count;
end;

-- Sends one dead letter again. Returns the id of its message, or null when there is no such dead letter.
create function dlq_replay(dead_letter_id bigint) returns bigint
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  letter dead_letter;
begin
  select * into letter from dead_letter d where d.id = dead_letter_id;
  if letter.id is null
     or redrive((select q.name from queue q where q.id = letter.queue_id), ids => array[dead_letter_id]) = 0 then
    return null;
  end if;
  return letter.message_id;
end
$$;

create function dlq_replay_all(queue text) returns int
language sql
volatile
return redrive(queue);

-- Throws away the dead letters of a queue that are older. Returns how many.
create function dlq_purge(queue text, older_than interval default '30 days') returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
begin
  if older_than is null or older_than < '0' then
    raise exception using errcode = 'PQ004', message = format('expected older_than to be 0 or longer, got: %s', coalesce(older_than::text, 'NULL'));
  end if;
  return purge_dead_letters(queue, died_before => clock_timestamp() - older_than);
end
$$;

-- schema/90_repair.sql

-- After a restore elsewhere: everything that is not settled is written again, under transaction ids that mean something here.
--
-- The stored ids and snapshots come from one cluster, and comparing them is arithmetic that needs no cluster. So they still say
-- exactly who has received what. All of it is written by one transaction, and each cursor is placed in the middle of that: before it lies
-- what is kept for consumers that come later (a queue's retention), after it what this consumer is to receive.

-- What taken sees, and what the own transaction has written.
create function snapshot_with_own(taken pg_snapshot) returns pg_snapshot
language plpgsql
volatile
set search_path from current
as $$
declare
  own constant bigint := pg_current_xact_id()::text;
  xmax constant bigint := pg_snapshot_xmax(taken)::text;
  in_progress bigint[];
begin
  -- whoever began between xmax and the own transaction may not have ended
  in_progress := array(
    select open.x
      from (select x::text::bigint from pg_snapshot_xip(taken) as x union select generate_series(xmax, own - 1)) as open(x)
     where open.x <> own
     order by open.x
  );
  return format('%s:%s:%s', coalesce(in_progress[1], greatest(xmax, own + 1)), greatest(xmax, own + 1), array_to_string(in_progress, ','))::pg_snapshot;
end
$$;

-- Sequences are not copied by logical replication. A sequence that has been lost is moved past what was given out; never back.
create function raise_sequence(sequence regclass, given_out bigint) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  if given_out > coalesce(pg_sequence_last_value(sequence), 0) then
    perform setval(sequence, given_out);
  end if;
end
$$;

-- The columns of a table but for some, to copy its rows by.
create function columns_but(source regclass, but text[]) returns text
language sql
stable
set search_path from current
begin atomic
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
    from pg_attribute a
   where a.attrelid = columns_but.source and a.attnum > 0 and not a.attisdropped and a.attname <> all (but);
end;

-- Copies what a queue has to keep into a temporary table, each message with the consumer it is for (null: all), its attempt, and its
-- place: 0 for what is only kept, 1 for what was in open batches, 2 for what was not received.
create function keep_messages(queue_id int) returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  execute format($sql$
    create temp table kept_message on commit drop as
    with position as materialized (
      select distinct on (b.consumer_id, b.lane) b.consumer_id, b.lane, b.last_txid, b.last_seq,
             coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next
        from batch_%1$s b
        join batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
       order by b.consumer_id, b.lane, b.n desc
    ),
    open as materialized (
      select b.*, coalesce(b.prev_snapshot, w.prev_snapshot) as prev, coalesce(b.next_snapshot, w.next_snapshot) as next, s.settled
        from open_batches(%1$s) o
        join batch_%1$s b on b.id = o.batch_id
        join batch_%1$s w on w.consumer_id = b.consumer_id and w.lane = b.lane and w.n = b.window_n
       cross join lateral batch_state(b.id) s
    ),
    kept as (
      select m.*, k.reader, m.attempt as reader_attempt, k.place
        from message_%1$s m
       cross join lateral (
         select coalesce(array_agg(c.id) filter (
                  where p.lane is null
                     or not (pg_visible_in_snapshot(m.txid, p.prev)
                             or (pg_visible_in_snapshot(m.txid, p.next) and (m.txid, m.seq) <= (p.last_txid, p.last_seq)))
                ), '{}') as readers,
                m.consumer_id is null as is_for_all,
                count(c.id) as consumers
           from consumer c
           left join position p on p.consumer_id = c.id and p.lane = m.lane
          where c.queue_id = %1$s and (m.consumer_id is null or m.consumer_id = c.id)
       ) r
       cross join lateral (
         select null::int as reader, 2 as place where r.is_for_all and cardinality(r.readers) = r.consumers
         union all
         select reader, 2 from unnest(r.readers) as reader where not (r.is_for_all and cardinality(r.readers) = r.consumers)
         union all
         select null, 0
          where r.is_for_all and cardinality(r.readers) < r.consumers
            and m.created_at > clock_timestamp() - (select q.retention from queue q where q.id = %1$s)
       ) k
      union all
      -- its attempt is not used up: that a cluster was left behind is not the message's fault
      select m.*, o.consumer_id, coalesce(o.rest_attempts[array_position(o.rest_ids, m.id)], m.attempt), 1
        from open o
        join message_%1$s m on m.lane = o.lane
         and (m.txid, m.seq) >= (o.first_txid, o.first_seq) and (m.txid, m.seq) <= (o.last_txid, o.last_seq)
       where pg_visible_in_snapshot(m.txid, o.next) and not pg_visible_in_snapshot(m.txid, o.prev)
         and (m.consumer_id is null or m.consumer_id = o.consumer_id)
         and (o.rest_ids is null or m.id = any (o.rest_ids))
         and m.id <> all (o.settled)
    )
    select k.*, row_number() over (order by k.place, k.lane, k.txid, k.seq) as number from kept k
  $sql$, queue_id);
end
$$;

-- Writes a queue anew. Returns how many messages are to be received.
create function repair_queue(queue_id int) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  pointer constant regclass := format('segment_pointer_%s', queue_id);
  sequence constant regclass := format('message_seq_%s', queue_id);
  columns constant text := columns_but(format('message_%s', queue_id), '{txid,seq,consumer_id,attempt}');
  before pg_snapshot;
  first_seq bigint;
  given_out bigint;
  cursors record;
  counted record;
begin
  execute format($sql$
    select greatest(
      (select max(greatest(m.seq, m.id)) from message_%1$s m),
      (select max(b.last_seq) from batch_%1$s b),
      (select max(d.message_id) from dead_letter d where d.queue_id = %1$s),
      (select max(d.id) from (
         select * from delayed_near_0 union all select * from delayed_near_1 union all select * from delayed_far_0 union all select * from delayed_far_1
       ) d join queue q on q.uid = d.queue_uid where q.id = %1$s)
    )
  $sql$, queue_id) into given_out;
  perform raise_sequence(sequence, given_out);
  execute format('select max(b.id >> 36) from batch_%s b', queue_id) into given_out;
  perform raise_sequence(format('batch_seq_%s', queue_id), given_out);
  if pointer_segment(pg_sequence_last_value(pointer)) < segment_count(queue_id) is not true then
    perform setval(pointer, pointer_to(0));
  end if;
  perform setval(format('lock_attempts_%s', queue_id), 0);

  perform keep_messages(queue_id);
  execute format($sql$
    select array_agg(c.id) as consumers, array_agg(b.lane) as lanes
      from consumer c
      join (select distinct b.consumer_id, b.lane from batch_%1$s b) b on b.consumer_id = c.id
     where c.queue_id = %1$s
  $sql$, queue_id) into cursors;
  execute format('truncate message_%1$s, batch_%1$s, outcome_%1$s', queue_id);

  select count(*) filter (where k.place = 0) as kept, count(*) filter (where k.place > 0) as to_receive into counted from kept_message k;
  first_seq := coalesce(pg_sequence_last_value(sequence), 0);
  perform raise_sequence(sequence, first_seq + counted.kept + counted.to_receive);
  execute format($sql$
    insert into message_%1$s_%2$s (seq, consumer_id, attempt, %3$s)
    select $1 + k.number, k.reader, k.reader_attempt, %3$s from kept_message k order by k.number
  $sql$, queue_id, pointer_segment(pg_sequence_last_value(pointer)), columns) using first_seq;
  drop table kept_message;

  perform pg_current_xact_id();
  before := snapshot_now();
  execute format($sql$
    insert into batch_%1$s (segment, consumer_id, lane, n, prev_snapshot, next_snapshot, window_n, last_txid, last_seq, messages)
    select %2$s, c.consumer_id, c.lane, 1, $1, snapshot_with_own($1), 1, pg_current_xact_id(), $2, 0
      from unnest($3, $4) as c(consumer_id, lane)
  $sql$, queue_id, pointer_segment(pg_sequence_last_value(pointer)))
    using before, first_seq + counted.kept, cursors.consumers, cursors.lanes;

  -- the keys of advisory locks that are written into them are hashes, which may differ between major versions
  perform generate_functions(queue_id);
  return counted.to_receive;
end
$$;

-- Writes anew what waits in a store of delayed messages.
create function repair_delayed(store text) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  pointer constant regclass := format('delayed_%s_pointer', store);
  source text;
  position record;
begin
  if pointer_segment(pg_sequence_last_value(pointer)) <= 1 is not true then
    perform setval(pointer, pointer_to(0));
  end if;
  execute format('create temp table kept_delayed on commit drop as select * from delayed_%s_0 limit 0', store);
  foreach source in array array[format('delayed_%s_0', store), format('delayed_%s_1', store)] loop
    position := delayed_position(source);
    execute format($sql$
      insert into kept_delayed
      select d.*
        from %I d
       where not (pg_visible_in_snapshot(d.txid, $1) and (d.due_at, d.seq) <= ($2, $3))
         and exists (select from queue q where q.uid = d.queue_uid)
         and (d.consumer_id is null or exists (select from consumer c where c.id = d.consumer_id))
    $sql$, source) using position.snapshot, position.due_at, position.seq;
  end loop;
  execute format('truncate delayed_%1$s_0, delayed_%1$s_0_log, delayed_%1$s_1, delayed_%1$s_1_log restart identity', store);
  execute format('insert into %1$I (%2$s) select %2$s from kept_delayed order by due_at, seq', delayed_table(store),
    columns_but(delayed_table(store)::regclass, '{txid,seq}'));
  drop table kept_delayed;
end
$$;

-- Puts the dedupe keys that have not run out into one table: the pointer says nothing any more.
create function repair_dedupe() returns void
language plpgsql
volatile
set search_path from current
as $$
begin
  create temp table kept_key on commit drop as
    select d.queue_uid, d.key, d.message_id, d.expires_at from dedupe d where d.expires_at > clock_timestamp();
  truncate dedupe;
  perform setval('dedupe_pointer', pointer_to(0));
  insert into dedupe select 0, k.* from kept_key k;
  drop table kept_key;
end
$$;

-- Makes a schema this cluster's that was restored, replicated or upgraded: until then send, receive and most others fail with PQ007. Nothing
-- is lost and nothing settled comes back: what a consumer had not received comes, what was in its open batches comes again at the same
-- attempt, what waited goes on waiting; those batches are gone, and workers are told so by their acks. Delivered messages that a queue's
-- retention keeps are kept.
--
-- Returns a row a queue: how many messages are to be received (one for each consumer where not all are to), and how many wait for their
-- time. No row, and a notice, when the schema is this cluster's already: nothing is done then, unless forced.
--
-- For the owner of the schema, in one transaction, READ COMMITTED; it holds ACCESS EXCLUSIVE on every table of every queue until that ends,
-- three locks a segment and their indexes', so a thousand queues need a higher max_locks_per_transaction.
create function repair(force boolean default false) returns table (queue_name text, messages bigint, delayed bigint)
language plpgsql
volatile
security definer
set search_path from current
as $$
#variable_conflict use_column
declare
  of_queue record;
begin
  perform require_read_committed('repair');
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  if is_marked() and not force then
    raise notice 'nothing to repair: the schema is this cluster''s';
    return;
  end if;
  lock table delayed_near_0, delayed_near_0_log, delayed_near_1, delayed_near_1_log,
             delayed_far_0, delayed_far_0_log, delayed_far_1, delayed_far_1_log in access exclusive mode;
  for of_queue in select q.id from queue q order by q.id loop
    execute format('lock table batch_%1$s, outcome_%1$s, message_%1$s in access exclusive mode', of_queue.id);
  end loop;
  -- what was written for consumers and queues that are gone is not kept, so that their numbers may come again
  perform raise_sequence(pg_get_serial_sequence('queue', 'uid'), (select max(q.uid) from queue q)),
          raise_sequence(pg_get_serial_sequence('consumer', 'id'), (select max(c.id) from consumer c)),
          raise_sequence(pg_get_serial_sequence('dead_letter', 'id'), (select max(d.id) from dead_letter d));
  perform repair_delayed('near'), repair_delayed('far');
  perform repair_dedupe();
  truncate heartbeat;
  if pointer_segment(pg_sequence_last_value('heartbeat_pointer')) <= 2 is not true then
    perform setval('heartbeat_pointer', pointer_to(0));
  end if;
  for of_queue in select q.id, q.uid, q.name from queue q order by q.name loop
    queue_name := of_queue.name;
    messages := repair_queue(of_queue.id);
    delayed := delayed_count(of_queue.uid);
    return next;
  end loop;
  perform generate_dispatchers();
  perform mark_cluster();
end
$$;

-- schema/99_privileges.sql

-- Nothing for PUBLIC, and roles if they can be made. If not the schema does without; status() says so, and create_roles() makes them later.
do $$
declare
  type_name text;
begin
  execute format('revoke all on all routines in schema %I from public', current_schema());
  execute format('revoke all on schema %I from public', current_schema());
  foreach type_name in array '{caller,option_kind,message,received_message,found_message,peeked_message,listed_dead_letter,settled_line,given_back}'::text[] loop
    execute format('revoke all on type %I from public', type_name);
  end loop;
  begin
    perform create_roles();
  exception
    when insufficient_privilege or sqlstate 'PQ004' then
      null;
  end;
end
$$;
