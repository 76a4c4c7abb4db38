-- From a queue's name to its generated functions.
--
-- send, send_batch and receive_messages take a queue's name; looking it up in a table and calling the queue's function by
-- EXECUTE would halve the rate of sends. So they are generated too, as a binary search over the names that runs no query,
-- and rewritten when a queue is created or dropped. They run with the caller's rights: who may use a queue is who may
-- execute its functions.

-- The body of a dispatcher: a binary search for the name held by the variable, ending in call with %s for the queue's id.
create function dispatch_branches(variable text, call text, names text[], ids int[]) returns text
language plpgsql
immutable
set search_path from current
as $$
declare
  half constant int := cardinality(names) / 2;
begin
  if cardinality(names) <= 4 then
    return (
      select coalesce(string_agg(format('if %s = %L then %s end if;', variable, q.name, format(call, q.id)), E'\n'), '')
        from unnest(names, ids) as q(name, id)
    );
  end if;
  return format(E'if %s collate "C" < %L then\n%s\nelse\n%s\nend if;', variable, names[half + 1],
    dispatch_branches(variable, call, names[:half], ids[:half]),
    dispatch_branches(variable, call, names[half + 1:], ids[half + 1:]));
end
$$;

-- Rewrites one dispatcher. head: its declaration up to the body; call: a statement that ends the function, with %s for the
-- queue's id. A name that is not in the search is looked up: a queue created a moment ago, or none.
create function generate_dispatcher(head text, variable text, call text, fallback text) returns void
language plpgsql
set search_path from current
as $generate$
declare
  names text[];
  ids int[];
begin
  select coalesce(array_agg(q.name order by q.name collate "C"), '{}'), coalesce(array_agg(q.id order by q.name collate "C"), '{}')
    into names, ids
    from queue q;
  execute format(E'create or replace function %s\nlanguage plpgsql\nas $dispatch$\nbegin\n%s\n%s\nend\n$dispatch$',
    head, dispatch_branches(variable, call, names, ids), fallback);
end
$generate$;

-- Rewrites all dispatchers from the registry.
create function generate_dispatchers() returns void
language plpgsql
set search_path from current
as $generate$
declare
  -- doubled percent signs, because the call passes through format() twice
  schema constant text := quote_ident(current_schema());
  escaped constant text := replace(schema, '%', '%%');
begin
  perform generate_dispatcher(
    'send(queue_name text, type_name text, payload text, options jsonb default null) returns bigint',
    'queue_name',
    'return ' || escaped || '.send_%s(type_name, payload, options);',
    format($sql$
declare
  message_id bigint;
begin
  execute format('select %%s.send_%%s($1, $2, $3)', %1$L, %2$s.require_queue(queue_name)) into message_id using type_name, payload, options;
  return message_id;
end;$sql$, schema, schema));
  perform generate_dispatcher(
    'send_batch(queue_name text, type_name text, payloads text[], headers jsonb[] default null) returns bigint[]',
    'queue_name',
    'return ' || escaped || '.send_batch_%s(type_name, payloads, headers);',
    format($sql$
declare
  message_ids bigint[];
begin
  execute format('select %%s.send_batch_%%s($1, $2, $3)', %1$L, %2$s.require_queue(queue_name)) into message_ids using type_name, payloads, headers;
  return message_ids;
end;$sql$, schema, schema));
  perform generate_dispatcher(
    format('receive_messages(queue text, consumer text, worker text default null, max_messages int default 100, lease interval default ''30 s'') returns setof %s.received_message', schema),
    'queue',
    'return query select * from ' || escaped || '.receive_%s(consumer, worker, max_messages, lease); return;',
    format('return query execute format(''select * from %%s.receive_%%s($1, $2, $3, $4)'', %1$L, %2$s.require_queue(queue)) using consumer, worker, max_messages, lease;', schema, schema));
end
$generate$;

select generate_dispatchers();
