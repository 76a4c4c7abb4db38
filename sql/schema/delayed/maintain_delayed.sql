-- Delivers what is due, of whatever queue, and moves to the soon store what is due within the hour. Returns how many messages that was. One session at a
-- time does it; 0 for the others. Call it in a transaction of its own: what is delivered is received once that has committed.
create function deliver_due() returns int
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  source text;
  done bigint := 0;
begin
  perform require_read_committed('deliver_due'), require_same_cluster();
  if not pg_try_advisory_xact_lock(lock_key('delayed', 0)) then
    return 0;
  end if;
  -- a table that is being compacted as well: what is due in it need not be copied first
  for source in select t from filled_delayed_tables() t loop
    if source like 'delayed_soon%' then
      done := done + move_delayed(source, null, clock_timestamp());
    else
      done := done + move_delayed(source, 'soon', clock_timestamp() + delayed_soon_span());
    end if;
  end loop;
  return least(done, 2147483647);
end
$$;

-- Collects both stores, a step each. Returns how much was done. As deliver_due, one session at a time.
create function compact_delayed() returns int
language plpgsql
volatile
set search_path from current
as $$
begin
  if not exists (select from filled_delayed_tables()) or not pg_try_advisory_xact_lock(lock_key('delayed', 0)) then
    return 0;
  end if;
  return least(compact_delayed('soon') + compact_delayed('later'), 2147483647);
end
$$;

-- Collects one store: copies what is left in the table that takes no inserts into the other one, the earliest first, and
-- truncates it when nothing is left; once it is empty, lets it take over when it is time.
create function compact_delayed(store text) returns bigint
language plpgsql
volatile
set search_path from current
as $$
declare
  current_table constant text := delayed_table(store);
  current_number constant int := right(current_table, 1)::int;
  other_table constant text := format('delayed_%s_%s', store, 1 - current_number);
  pointer constant regclass := relation(format('delayed_%s_pointer', store));
  moved bigint;
begin
  if pg_relation_size(relation(other_table)) > 0 then
    moved := move_delayed(other_table, store, 'infinity');
    return moved + case when moved = 0 then truncate_delayed(other_table)::int else 0 end;
  end if;
  if is_being_truncated(relation(other_table))
     or pointer_age(pg_sequence_last_value(pointer)) < '30 s'
     or not delayed_needs_compacting(current_table) then
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
create function delayed_needs_compacting(source text) returns boolean
language plpgsql
volatile
set search_path from current
as $$
declare
  moved bigint;
begin
  if pg_table_size(relation(source || '_log')) >= delayed_bytes_min() then
    return true;
  end if;
  if pg_table_size(relation(source)) < delayed_bytes_min() then
    return false;
  end if;
  execute format(qualified('select moved from {schema}.%I order by n desc limit 1'), source || '_log') into moved;
  -- nothing at all has been moved: null
  return coalesce(moved * 2 >= pg_sequence_last_value(pg_get_serial_sequence(format(qualified('{schema}.%I'), source), 'seq')::regclass), false);
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
  execute format(qualified('lock table only {schema}.%1$I, only {schema}.%2$I, only {schema}.%3$I in access exclusive mode nowait'), source, source || '_log', 'cancelled_' || source);
  -- a sender that read the pointer before it moved may have inserted since the last move
  position := delayed_position(source);
  execute format(qualified($sql$
    select exists (select from {schema}.%1$I d where (d.due_at, d.seq) > ($2, $3))
        or exists (select from {schema}.%1$I d where d.txid >= pg_snapshot_xmax($1))
        or exists (select from pg_snapshot_xip($1) as late(txid) join {schema}.%1$I d on d.txid = late.txid)
  $sql$), source) into something_left using position.snapshot, position.due_at, position.seq;
  if something_left then
    return false;
  end if;
  execute format(qualified('truncate only {schema}.%1$I, only {schema}.%2$I, only {schema}.%3$I restart identity'), source, source || '_log', 'cancelled_' || source);
  return true;
exception
  when lock_not_available then
    return false;
end
$$;

-- When the next message becomes due that waits in the soon store; null: none does. For whoever calls maintain in time for it.
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
  foreach source in array array['delayed_soon_0', 'delayed_soon_1'] loop
    position := delayed_position(source);
    execute format(qualified('select d.due_at from {schema}.%I d where (d.due_at, d.seq) > ($1, $2) order by d.due_at, d.seq limit 1'), source)
      into due_at using position.due_at, position.seq;
    first_due_at := least(first_due_at, due_at);
  end loop;
  return first_due_at;
end
$$;
