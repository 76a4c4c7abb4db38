CREATE OR REPLACE FUNCTION pgque.send_batch_1(type_name text, payloads text[], headers jsonb[], options jsonb, marked boolean)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
AS $function$
declare
  ids bigint[];
  claimed bigint[];
  answers bigint[];
  bytes int;
  due_at timestamptz;
begin
  if payloads is null or array_ndims(payloads) > 1 or headers is not null or pgque.cluster_changed() then
    perform pgque.require_same_cluster();
    perform pgque.check_send_batch(payloads, headers);
  end if;
  select coalesce(array_agg(nextval('pgque.message_seq_1')), '{}'), max(octet_length(payload)) into ids, bytes from unnest(payloads) as payload;
  if type_name is null or bytes > 1000000000 then
    perform pgque.check_send(type_name, (select payload from unnest(payloads) as payload where octet_length(payload) > 1000000000 limit 1), 1000000000);
  end if;
  if options is not null then
    if not pgque.are_send_options(options, '{delay,at,dedupe_keys,dedupe_ttl}') then
      perform pgque.refuse_send_options(1, options, '{delay,at,dedupe_keys,dedupe_ttl}');
    end if;
    due_at := pgque.send_due_at(options);
    if options ? 'dedupe_keys' then
      claimed := pgque.claim_keys(1, options, ids);
      answers := claimed;
      if marked then
        answers := array(select case when m.claimed = m.id then m.id else -m.claimed end from unnest(ids, claimed) with ordinality as m(id, claimed, n) order by m.n);
      end if;
      select array_agg(m.id order by m.n), array_agg(m.payload order by m.n), array_agg(m.headers order by m.n)
        into ids, payloads, headers
        from unnest(ids, claimed, payloads, headers) with ordinality as m(id, claimed, payload, headers, n)
       where m.claimed = m.id;
      if ids is null then
        return coalesce(answers, '{}');
      end if;
    end if;
    if due_at > clock_timestamp() then
      perform pgque.send_later(1, due_at, ids, null, null, null, type_name, payloads, headers);
      return coalesce(answers, ids);
    end if;
  end if;
  case pgque.pointer_segment(pg_sequence_last_value('pgque.segment_pointer_1'))
    when 0 then
      insert into pgque.message_1_0 (seq, id, type, payload, headers)
      select m.id, m.id, type_name, m.payload, m.headers from unnest(ids, payloads, headers) as m(id, payload, headers);
    when 1 then
      insert into pgque.message_1_1 (seq, id, type, payload, headers)
      select m.id, m.id, type_name, m.payload, m.headers from unnest(ids, payloads, headers) as m(id, payload, headers);
    when 2 then
      insert into pgque.message_1_2 (seq, id, type, payload, headers)
      select m.id, m.id, type_name, m.payload, m.headers from unnest(ids, payloads, headers) as m(id, payload, headers);
    else
      insert into pgque.message_1_0 (seq, id, type, payload, headers)
      select m.id, m.id, type_name, m.payload, m.headers from unnest(ids, payloads, headers) as m(id, payload, headers);
  end case;
  if (case when pg_try_advisory_lock(2522644131536187655) then not pg_advisory_unlock(2522644131536187655) else true end) then
    perform pgque.notify_workers(1);
  end if;
  return coalesce(answers, ids);
end
$function$;
