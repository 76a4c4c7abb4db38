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

-- Rewrites one dispatcher. head: its declaration up to the body; call: a template for the statement that ends the function, with %s for the
-- queue's id; otherwise: what it does with a key that is not in the search.
create function generate_dispatcher(head text, key text, call text, keys text[], ids int[], otherwise text) returns void
language plpgsql
set search_path from current
-- parsing every branch here as well is two thirds of the time with a thousand queues
set check_function_bodies = off
as $generate$
begin
  execute format('create or replace function %s language plpgsql as %L', head,
    concat_ws(E'\n', '', 'begin', dispatch_branches(key, call, keys, ids), otherwise, 'end', ''));
end
$generate$;

-- Rewrites all dispatchers from the registry. A name that they do not know is looked up: its queue was created a moment ago, or
-- there is none.
create function generate_dispatchers() returns void
language plpgsql
set search_path from current
as $generate$
declare
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
    format(qualified('{schema}.send(queue_name text, type_name text, payload text, options jsonb default null) returns bigint')),
    by_name, qualified('return {schema}.send_%s(type_name, payload, options, false);'), names, name_ids,
    format(qualified($sql$
declare
  message_id bigint;
begin
  execute format(%L, {schema}.require_queue(queue_name)) into message_id using type_name, payload, options;
  return message_id;
end;$sql$), qualified('select {schema}.send_%s($1, $2, $3, false)')));
  perform generate_dispatcher(
    format(qualified('{schema}.send_batch(queue_name text, type_name text, payloads text[], headers jsonb[] default null, options jsonb default null) returns bigint[]')),
    by_name, qualified('return {schema}.send_batch_%s(type_name, payloads, headers, options, false);'), names, name_ids,
    format(qualified($sql$
declare
  message_ids bigint[];
begin
  execute format(%L, {schema}.require_queue(queue_name)) into message_ids using type_name, payloads, headers, options;
  return message_ids;
end;$sql$), qualified('select {schema}.send_batch_%s($1, $2, $3, $4, false)')));
  perform generate_dispatcher(
    format(qualified($sql${schema}.receive_messages(
  queue text, consumer text, worker text default null, max_messages int default 100, lease interval default '30 s', max_bytes int default null,
  reports_started boolean default false
) returns setof {schema}.received_message$sql$)),
    'queue collate "C"', qualified('return query select * from {schema}.receive_%s(consumer, worker, max_messages, lease, max_bytes, reports_started); return;'), names, name_ids,
    format(qualified('return query execute format(%L, {schema}.require_queue(queue)) using consumer, worker, max_messages, lease, max_bytes, reports_started;'),
      qualified('select * from {schema}.receive_%s($1, $2, $3, $4, $5, $6)')));
  perform generate_dispatcher(
    format(qualified('{schema}.ack(batch_id bigint) returns int')),
    format(qualified('{schema}.batch_queue(batch_id)')), qualified('return {schema}.ack_%s(batch_id);'), ids::text[], ids,
    format(qualified('return {schema}.ack_by_number(batch_id);')));
end
$generate$;

select generate_dispatchers();
