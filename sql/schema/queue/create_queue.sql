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
  perform generate_consumer_status(queue_id);
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
  new_id := next_queue_number();
  insert into queue (id, name, migration) select new_id, create_queue.queue, m.migration from meta m;
  perform store_queue(configured_queue(q, jsonb_strip_nulls(options))) from queue q where q.id = new_id;
  perform create_segment_parents(new_id);
  for segment in 0 .. 2 loop
    perform create_segment(new_id, segment);
  end loop;
  perform generate_functions(new_id);
  perform revoke_all(array(select format('%s_%s', kind, new_id) from unnest('{send,send_batch,receive,ack,lane_of,consumer_status}'::text[]) as kind));
  perform generate_dispatchers();
  perform grant_to_roles(new_id);
  return 1;
end
$$;

-- Drops a queue and everything in it. 1 dropped, 0 there was none. Fails while consumers are subscribed, unless forced, and when somebody uses
-- the queue for longer than a second.
create function drop_queue(queue text, force boolean default false) returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  old_id int;
  started constant timestamptz := clock_timestamp();
begin
  loop
    old_id := lock_to_drop(queue, force);
    exit when old_id is distinct from 0;
    if clock_timestamp() - started > interval '1 s' then
      perform refuse_in_use(queue);
    end if;
    -- for those who need the locks that were let go
    perform pg_sleep(0.02);
  end loop;
  if old_id is null then
    return 0;
  end if;
  perform generate_dispatchers();
  execute format(qualified('drop table if exists {schema}.message_%1$s, {schema}.batch_%1$s, {schema}.outcome_%1$s, {schema}.cancelled_%1$s cascade'), old_id);
  execute format(qualified('drop function {schema}.send_%1$s, {schema}.send_batch_%1$s, {schema}.receive_%1$s, {schema}.ack_%1$s, {schema}.consumer_status_%1$s'), old_id);
  execute format(qualified('drop function if exists {schema}.lane_of_%s'), old_id);
  return 1;
end
$$;

-- Takes a queue out of the registry, with all locks that this needs. Returns its number; null: there is none; 0: one of the locks is not to be
-- had within a moment, and none is kept. So whoever waits for one of them, with another in hand, waits no longer than that: there is no
-- order of locks that a transaction has to keep to.
create function lock_to_drop(queue text, force boolean) returns int
language plpgsql
volatile
set search_path from current
set lock_timeout = '50ms'
as $$
#variable_conflict use_column
declare
  old_id int;
  consumers text;
begin
  perform pg_advisory_xact_lock(lock_key('registry', 0));
  select q.id into old_id from queue q where q.name = lock_to_drop.queue;
  if old_id is null then
    return null;
  end if;
  select string_agg(c.name, ', ' order by c.name) into consumers from consumer c where c.queue_id = old_id;
  if consumers is not null and not force then
    raise exception using
      errcode = 'PQ004',
      message = format('queue %s has consumers: %s', quote_literal(queue), consumers),
      hint = 'Unsubscribe them first, or force the drop: what they have not received is lost.';
  end if;
  perform pg_advisory_xact_lock(key) from unnest(maintenance_keys(old_id)) as key;
  -- in the order in which receives and acks lock them
  execute format(qualified('lock table only {schema}.batch_%s in access exclusive mode'), old_id);
  execute format(qualified('lock table {schema}.outcome_%s in access exclusive mode'), old_id);
  execute format(qualified('lock table {schema}.batch_%1$s, {schema}.message_%1$s in access exclusive mode'), old_id);
  -- not left to the foreign keys: under session_replication_role = replica they do nothing
  delete from dropped_consumer d where d.queue_id = old_id;
  delete from dead_letter d where d.queue_id = old_id;
  delete from schedule s where s.queue_id = old_id;
  delete from consumer c where c.queue_id = old_id;
  delete from queue q where q.id = old_id;
  return old_id;
exception
  -- no table: another session has dropped it since it was read
  when lock_not_available or undefined_table then
    return 0;
end
$$;

-- The locks of those who maintain a queue.
create function maintenance_keys(queue_id int) returns bigint[]
language sql
stable
set search_path from current
return array[lock_key('maintain', queue_id), lock_key('delayed', 0)];

-- The error that says who uses a queue.
create function refuse_in_use(queue text) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  of_queue constant int := (select q.id from queue q where q.name = refuse_in_use.queue);
  tables constant oid[] := array(
    select c.oid
      from pg_class c
     where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = current_schema())
       and c.relname ~ format('^(message|batch|outcome)_%s(_\d+)?$', of_queue)
  );
  holders constant text := (
    select string_agg(h.holder, ', ') from lock_holders(tables, lock_key('registry', 0) || maintenance_keys(of_queue)) h
  );
begin
  raise exception using
    errcode = 'PQ004',
    message = format('queue %s is in use', quote_literal(queue)) || coalesce(' by ' || holders, ''),
    hint = 'Try again when its transaction has ended, or end it with pg_terminate_backend(process).';
end
$$;
