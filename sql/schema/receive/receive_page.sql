-- A page: so many messages of a window that are handed out together, and the batch row that says so.

-- Fragment: the statements that return the messages of a page. source: the query for them, at most one more than a page may have. A page ends with the
-- message whose payload brings its bytes up to max_bytes. So one message of any size is returned, and the caller knows from the bytes whether there may
-- be more.
-- One loop, and not a statement that reads, writes and returns: the start of each scan and of each aggregate is most of what a small receive costs.
-- Reads: current_segment, lease, max_messages, max_bytes. Writes: message, seen, messages, bytes, batch_id, lease_until, first_txid, first_seq,
-- last_txid, last_seq.
create function return_messages(queue_id int, lane text, source text) returns text
language plpgsql
stable
set search_path from current
as $generate$
declare
  has_priorities constant boolean := (select q.lane_by is not distinct from 'priority' from queue q where q.id = queue_id);
begin
  return render($sql$
    for message in
      ${source}
    loop
      seen := seen + 1;
      -- what is not returned says that the page is not the last
      exit when messages = max_messages or bytes >= max_bytes;
      if messages = 0 then
        batch_id := {schema}.make_batch_id(nextval('{schema}.batch_seq_${queue}'), ${queue}, current_segment);
        lease_until := clock_timestamp() + lease;
        first_txid := message.txid;
        first_seq := message.seq;
      end if;
      last_txid := message.txid;
      last_seq := message.seq;
      messages := messages + 1;
      -- the length of a payload is known without reading it
      bytes := bytes + coalesce(octet_length(message.payload), 0);
      return next (
        batch_id, message.id, message.attempt::int, message.type, message.payload, message.headers, message.created_at, lease_until, ${priority},
        message.key, message.crashes::int
      )::{schema}.received_message;
    end loop;
  $sql$, jsonb_build_object('queue', queue_id, 'source', source, 'priority', case when has_priorities then lane else 'null::int' end));
end
$generate$;

-- Fragment: the statements that append the batch row of a page and return from the function, when the page has a message. is_last_page: a condition
-- beside the one that all messages that were read are returned.
-- Reads: position, current_segment, keeps_window, of_consumer, worker, reports_started, started, expired, rate_from, rate_step, and what return_messages
-- writes.
create function append_batch(queue_id int, lane text, is_last_page text default null) returns text
language plpgsql
stable
set search_path from current
as $generate$
declare
  may_expire constant boolean := not_expired(queue_id) <> '';
  holes jsonb;
begin
  holes := jsonb_build_object('queue', queue_id, 'lane', lane, 'is_last_page', 'seen = messages' || coalesce(' and ' || is_last_page, ''));
  if may_expire then
    holes := holes || jsonb_build_object(
      'until_txid', format('case when %s then pg_snapshot_xmax(position.next_snapshot) else last_txid end', holes->>'is_last_page'),
      'until_seq', format('case when %s then 0 else last_seq end', holes->>'is_last_page'),
      'range_start', range_start('position', 'position.prev_snapshot')
    );
  end if;
  return render($sql$
    if messages > 0 then
      if position.batch_no % 64 = 0 then
        select w.settled_before, w.still_open into position.settled_before, position.still_open
          from {schema}.move_settled_watermark(
            ${queue}, of_consumer, ${lane}, position.batch_no, (position.settled_before, position.still_open)::{schema}.settled_watermark
          ) w;
      end if;
      insert into {schema}.batch_${queue} (
        segment, consumer_id, lane, batch_no, id, prev_snapshot, next_snapshot, window_batch_no, window_segments, window_mins, window_maxs,
        first_txid, first_seq, last_txid, last_seq, messages, expired, exhausted, settled_before, still_open, worker, reports_started, created_at, lease_until,
        rate_until
      ) values (
        current_segment, of_consumer, ${lane}, position.batch_no + 1, batch_id,
        -- a window is stored once per segment, its further batches refer to it
        case when not keeps_window then position.prev_snapshot end,
        case when not keeps_window then position.next_snapshot end,
        case when keeps_window then position.window_batch_no else position.batch_no + 1 end,
        case when not keeps_window then position.window_segments end,
        case when not keeps_window then position.window_mins end,
        case when not keeps_window then position.window_maxs end,
        first_txid, first_seq, last_txid, last_seq, messages,
        $sql$ || case when may_expire then 'position.expired + expired + ' || indent(expired_up_to(), 8) else 'position.expired' end || $sql$,
        ${is_last_page},
        -- what had expired when the batch was made is not in it, however often it is read again: judged by created_at
        position.settled_before, position.still_open, worker, nullif(reports_started, false), started, lease_until, rate_from + messages * rate_step
      );
      return;
    end if;
  $sql$, holes);
end
$generate$;
