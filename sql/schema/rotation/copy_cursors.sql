-- Copies the cursors that still lie in a segment into the current one, and the watermarks of more than a hundred open batches.
-- The caller holds ACCESS EXCLUSIVE on the segment. The cursors' advisory locks are not taken: a receive whose cursor lies
-- here holds ACCESS SHARE on it from before its first look, so none is under way, and taking them here would deadlock.
create function copy_cursors(queue_id int, segment int) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  current_segment constant int := pointer_segment(pg_sequence_last_value(relation(format('segment_pointer_%s', queue_id))));
begin
  execute render($sql$
    insert into {schema}.batch_${queue} (
      segment, consumer_id, lane, batch_no, prev_snapshot, next_snapshot, window_batch_no, last_txid, last_seq, messages, exhausted, settled_before, still_open,
      rate_until, expired
    )
    select ${current}, c.consumer_id, c.lane, c.batch_no + 1, c.prev, c.next, c.batch_no + 1, c.last_txid, c.last_seq, 0, c.exhausted,
           (c.settled).settled_before, (c.settled).still_open, c.rate_until, c.expired
      from {schema}.cursors(${queue}) c
     where c.segment = ${segment}
  $sql$, jsonb_build_object('queue', queue_id, 'segment', segment, 'current', current_segment));
  -- a receive may write a later one meanwhile: this one stays true
  execute render($sql$
    insert into {schema}.batch_${queue} (segment, consumer_id, lane, batch_no, window_batch_no, last_txid, last_seq, messages, settled_before, still_open)
    select ${current}, f.consumer_id, f.lane, f.batch_no, f.batch_no, '0', -1, 0, f.settled_before, f.still_open
      from {schema}.cursors(${queue}) c
     cross join lateral (
       select * from {schema}.batch_${queue} b where b.consumer_id = -c.consumer_id and b.lane = c.lane order by b.batch_no desc limit 1
     ) f
     where f.segment = ${segment} and f.settled_before > (c.settled).settled_before
       and {schema}.watermark_lags(c.batch_no, c.settled)
  $sql$, jsonb_build_object('queue', queue_id, 'segment', segment, 'current', current_segment));
end
$$;
