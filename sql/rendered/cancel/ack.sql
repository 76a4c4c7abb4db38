CREATE OR REPLACE FUNCTION pgque.ack_1(batch bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  case pgque.batch_segment(batch)
    when 0 then
      insert into pgque.outcome_1_0 (segment, batch_id, n, final)
      select 0, b.id, 1, true from pgque.batch_1_0 b where b.id = ack_1.batch for no key update
      on conflict (batch_id, n, segment) do nothing;
    when 1 then
      insert into pgque.outcome_1_1 (segment, batch_id, n, final)
      select 1, b.id, 1, true from pgque.batch_1_1 b where b.id = ack_1.batch for no key update
      on conflict (batch_id, n, segment) do nothing;
    when 2 then
      insert into pgque.outcome_1_2 (segment, batch_id, n, final)
      select 2, b.id, 1, true from pgque.batch_1_2 b where b.id = ack_1.batch for no key update
      on conflict (batch_id, n, segment) do nothing;
    else
      null;
  end case;
  if not found then
    -- this runs with the owner's rights, and who may call it may settle this queue's batches alone
    if pgque.batch_queue(batch) is distinct from 1 then
      perform pgque.warn_not_settled(batch);
      return 0;
    end if;
    return pgque.ack_by_number(batch);
  end if;
  return 1;
end
$function$;
