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

-- Fragment: what follows the messages of a window in the statement that reads one page of it: how many of them are handed out, the batch row that
-- says so, and the messages. is_last_page: the condition that nothing is left of the window after it, of a row p of picked.
-- Reads: position, current_segment, keeps_window, of_consumer, worker, lease, max_messages, max_bytes, tells_begun, started, expired, rate_from, rate_step.
create function append_batch(queue_id int, lane text, is_last_page text default 'p.seen <= max_messages and p.messages = p.seen') returns text
language plpgsql
stable
set search_path from current
as $generate$
declare
  has_priorities constant boolean := (select q.lane_by is not distinct from 'priority' from queue q where q.id = queue_id);
  may_expire constant boolean := not_expired(queue_id) <> '';
  holes jsonb;
begin
  holes := jsonb_build_object('queue', queue_id, 'lane', lane, 'is_last_page', is_last_page, 'priority', case when has_priorities then lane else 'null::int' end);
  if may_expire then
    holes := holes || jsonb_build_object(
      'until_txid', format('case when %s then pg_snapshot_xmax(position.next_snapshot) else p.txids[p.messages] end', is_last_page),
      'until_seq', format('case when %s then 0 else p.seqs[p.messages] end', is_last_page),
      'range_start', range_start('position', 'position.prev_snapshot')
    );
  end if;
  return render($sql$
    picked as (
      select array_agg(w.txid) as txids, array_agg(w.seq) as seqs, count(*)::int as seen,
             -- the length of a payload is known without reading it
             -- one more than may be handed out was looked for
             least(max_messages, case
               when max_bytes is null or coalesce(sum(octet_length(w.payload)), 0) < max_bytes then count(*)::int
               else {schema}.messages_within(array_agg(coalesce(octet_length(w.payload), 0)), max_bytes)
             end) as messages
        from window_messages w
      having count(*) > 0
    ),
    new_batch as (
      insert into {schema}.batch_${queue} (
        segment, consumer_id, lane, batch_no, id, prev_snapshot, next_snapshot, window_batch_no, window_segments, window_mins, window_maxs,
        first_txid, first_seq, last_txid, last_seq, messages, expired, exhausted, settled_before, still_open, worker, tells_begun, created_at, lease_until,
        rate_until
      )
      select current_segment, of_consumer, ${lane}, position.batch_no + 1,
             {schema}.make_batch_id(nextval('{schema}.batch_seq_${queue}'), ${queue}, current_segment),
             -- a window is stored once per segment, its further batches refer to it
             case when not keeps_window then position.prev_snapshot end,
             case when not keeps_window then position.next_snapshot end,
             case when keeps_window then position.window_batch_no else position.batch_no + 1 end,
             case when not keeps_window then position.window_segments end,
             case when not keeps_window then position.window_mins end,
             case when not keeps_window then position.window_maxs end,
             p.txids[1], p.seqs[1], p.txids[p.messages], p.seqs[p.messages], p.messages,
             $sql$ || case when may_expire then 'position.expired + expired + ' || indent(expired_up_to(), 13) else 'position.expired' end || $sql$,
             ${is_last_page},
             -- what had expired when the batch was made is not in it, however often it is read again: judged by created_at
             (l.line).settled_before, (l.line).still_open, receive_${queue}.worker, nullif(receive_${queue}.tells_begun, false), started, clock_timestamp() + lease,
             rate_from + p.messages * rate_step
        from picked p,
             -- offset 0: evaluated once
             (
               select case when position.batch_no % 64 = 0
                        then {schema}.move_settled_watermark(${queue}, of_consumer, ${lane}, position.batch_no, (position.settled_before, position.still_open)::{schema}.settled_watermark)
                        else (position.settled_before, position.still_open)::{schema}.settled_watermark
                      end as line
               offset 0
             ) l
      returning id, lease_until
    )
    select b.id, m.id, m.attempt::int, m.type, m.payload, m.headers, m.created_at, b.lease_until, ${priority}, m.key, m.crashes::int
      from (select * from window_messages limit (select p.messages from picked p)) m
     cross join new_batch b;
  $sql$, holes);
end
$generate$;
