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

-- Sends one message, and says whether it did: deduplicated, another one has its dedupe key, and the id is that one's.
create function send_deduplicated(
  queue_name text, type_name text, payload text, options jsonb default null, caller caller default current_user
) returns sent
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  of_queue constant int := sendable_queue(caller, queue_name);
  of_queue_uid bigint;
  holder_id bigint;
  is_replaced boolean := false;
  answer bigint;
begin
  if options ?& '{if_waiting,dedupe_key}' and allows_cancel(of_queue) then
    of_queue_uid := (select q.uid from queue q where q.id = of_queue);
    holder_id := hold_key(of_queue_uid, options);
    if holder_id is not null and options -> 'if_waiting' = '"replace"' then
      is_replaced := replace_message(of_queue_uid, options ->> 'dedupe_key', holder_id);
    end if;
  end if;
  execute format(qualified('select {schema}.send_%s($1, $2, $3, true)'), of_queue) into answer using type_name, payload, options;
  -- of one that is postponed it is the new id
  return (abs(answer), answer < 0, case when is_replaced or (answer < 0 and -answer <> holder_id) then holder_id end)::sent;
end
$$;

-- The same of many, in the order of the payloads.
create function send_batch_deduplicated(
  queue_name text, type_name text, payloads text[], headers jsonb[] default null, options jsonb default null, caller caller default current_user
) returns setof sent
language plpgsql
volatile
security definer
set search_path from current
as $$
declare
  answers bigint[];
begin
  execute format(qualified('select {schema}.send_batch_%s($1, $2, $3, $4, true)'), sendable_queue(caller, queue_name))
    into answers using type_name, payloads, headers, options;
  return query select abs(a.id), a.id < 0, null::bigint from unnest(answers) with ordinality as a(id, n) order by a.n;
end
$$;
