CREATE OR REPLACE FUNCTION pgque.send_1(type_name text, payload text, options jsonb, marked boolean)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  message_id constant bigint := nextval('pgque.message_seq_1');
  first_id bigint;
  headers jsonb;
  due_at timestamptz;
begin
  -- one look for all that is rare: plpgsql sets up every expression anew in every transaction
  if type_name is null or octet_length(payload) > 1000000000 or options is not null or pgque.cluster_changed() then
    perform pgque.require_same_cluster();
    if type_name is null or octet_length(payload) > 1000000000 then
      perform pgque.check_send(type_name, payload, 1000000000);
    end if;
    if options is not null and not pgque.are_send_options(options, '{delay,at,headers,dedupe_key,dedupe_ttl,if_waiting}') then
      perform pgque.refuse_send_options(1, options, '{delay,at,headers,dedupe_key,dedupe_ttl,if_waiting}');
    end if;
    headers := options -> 'headers';
    if options ?| '{delay,at}' then
      due_at := pgque.send_due_at(options);
    end if;
    if options ? 'dedupe_key' then
      first_id := pgque.claim_key(1, options, message_id);
      if first_id is not null then
        return case when marked then -first_id else first_id end;
      end if;
    end if;
    if due_at > clock_timestamp() then
      perform pgque.send_later(1, due_at, array[message_id], null, null, null, type_name, array[payload], array[headers]);
      return message_id;
    end if;
  end if;
  case pgque.pointer_segment(pg_sequence_last_value('pgque.segment_pointer_1'))
    when 0 then
      insert into pgque.message_1_0 (seq, id, type, payload, headers)
      values (message_id, message_id, type_name, payload, headers);
    when 1 then
      insert into pgque.message_1_1 (seq, id, type, payload, headers)
      values (message_id, message_id, type_name, payload, headers);
    when 2 then
      insert into pgque.message_1_2 (seq, id, type, payload, headers)
      values (message_id, message_id, type_name, payload, headers);
    else
      -- a segment younger than this function is served by the first: receivers read the whole ring
      insert into pgque.message_1_0 (seq, id, type, payload, headers)
      values (message_id, message_id, type_name, payload, headers);
  end case;
  if (case when pg_try_advisory_lock(2522644131536187655) then not pg_advisory_unlock(2522644131536187655) else true end) then
    perform pgque.notify_workers(1);
  end if;
  return message_id;
end
$function$;
