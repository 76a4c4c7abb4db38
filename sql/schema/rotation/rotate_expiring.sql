-- Tables of rows that run out, of which three take turns: those of dedupe keys, of results, of steps and of progress. The pointer names the current one, which takes inserts. When
-- half of the rows in the one before it have run out, the others are copied into the current one and the pointer moves on; so the third is nobody's concern
-- and is truncated. A row that counts for long keeps no others that way, and each is written about once more for every one that has run out.

-- Moves the pointer on, or truncates the table that is nobody's concern. kind: dedupe, result, step or progress. Returns the number of things done.
create function rotate_expiring(kind text) returns int
language plpgsql
volatile
set search_path from current
as $$
declare
  pointer bigint;
  current_table int;
  next_table int;
  before_table int;
begin
  if not pg_try_advisory_xact_lock(lock_key(kind, 0)) then
    return 0;
  end if;
  pointer := pg_sequence_last_value(relation(kind || '_pointer'));
  current_table := pointer_segment(pointer);
  next_table := (current_table + 1) % 3;
  before_table := (current_table + 2) % 3;
  if pg_relation_size(relation(format('%s_%s', kind, next_table))) > 0 then
    execute format(qualified('lock table only {schema}.%s_%s in access exclusive mode nowait'), kind, next_table);
    execute format(qualified('truncate only {schema}.%s_%s'), kind, next_table);
    return 1;
  end if;
  if pointer_age(pointer) < expiring_period()
     or pg_relation_size(relation(format('%s_%s', kind, current_table))) = 0
     or is_being_truncated(relation(format('%s_%s', kind, next_table))) then
    return 0;
  end if;
  -- no row in it is uncommitted either
  execute format(qualified('lock table only {schema}.%s_%s in share mode nowait'), kind, before_table);
  if live_share(kind, before_table) > 0.5 then
    return 0;
  end if;
  execute format(qualified($sql$
    insert into {schema}.%1$s (segment, %2$s) select $1, %2$s from {schema}.%1$s_%3$s d where %4$s
  $sql$), kind, columns_but(relation(kind), '{segment}'), before_table, live_condition(kind)) using current_table;
  perform setval(relation(kind || '_pointer'), pointer_to(next_table));
  return 1;
exception
  when lock_not_available then
    return 0;
end
$$;

-- What holds for a row d that still counts: its time is not over, and the message that a step is of is not done.
create function live_condition(kind text) returns text
language sql
stable
set search_path from current
return 'd.expires_at > clock_timestamp()' || case kind when 'step' then qualified(
  ' and not exists (select from {schema}.step f where f.queue_uid = d.queue_uid and f.message_id = d.message_id and f.consumer = d.consumer and f.name is null)'
) else '' end;

-- Which part of the rows in a table counts, by a look at a hundred of its pages. 0 without rows; 1 when those pages have none.
create function live_share(kind text, segment int) returns float8
language plpgsql
volatile
set search_path from current
as $$
declare
  pages constant bigint := pg_relation_size(relation(format('%s_%s', kind, segment))) / current_setting('block_size')::int;
  share float8;
begin
  if pages = 0 then
    return 0;
  end if;
  execute format(qualified('select avg((%s)::int) from {schema}.%s_%s d tablesample system (%s)'), live_condition(kind), kind, segment, least(100, 10000.0 / pages))
    into share;
  return coalesce(share, 1);
end
$$;

-- A table takes rows for so long at least.
create function expiring_period() returns interval
language sql
immutable
return interval '10 min';
