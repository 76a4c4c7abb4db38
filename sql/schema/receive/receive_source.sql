-- What a receive reads: the parts of its statement that say which messages, in which order, from which tables. receive/receive.sql says how a
-- cursor works.

-- What the main part of a window is read after, (txid, seq): the position of a cursor, or the end of the earlier snapshot while the position is
-- still among the late messages. position: what has last_txid and last_seq.
create function range_start("position" text, prev text) returns text
language sql
immutable
return format(
  '(case when %1$s.last_txid < pg_snapshot_xmax(%2$s) then pg_snapshot_xmax(%2$s) else %1$s.last_txid end, '
    || 'case when %1$s.last_txid < pg_snapshot_xmax(%2$s) then -1 else %1$s.last_seq end)', "position", prev);

-- The messages of the main part of the window, before a txid; one more than a page may have, which says whether it is the last. Every segment of
-- the ring has a scan of its own, which is made ready anew for each receive: so the bounds are variables, not expressions, and all columns are
-- taken, as they lie in the table: both are most of what that costs.
create function messages_of_window(source text, lane text, before text, condition text) returns text
language sql
immutable
return format($sql$
  (
    select m.*
      from %1$s
       and m.lane = %3$s
       and (m.txid, m.seq) > (after_txid, after_seq)
       and m.txid < %2$s
       and pg_visible_in_snapshot(m.txid, position.next_snapshot)
       and (m.consumer_id is null or m.consumer_id = reader)%4$s
     order by m.lane, m.txid, m.seq
     limit max_messages + 1
  )
$sql$, source, before, lane, condition);

-- The condition that a message has not expired, for a queue whose messages may.
create function not_expired(queue_id int) returns text
language sql
stable
set search_path from current
return case when (select q.allow_expiry from queue q where q.id = queue_id) then ' and (m.expires_at is null or m.expires_at > started)' else '' end;

-- Where a page of a lane is read from.
--   window  the whole ring. Most windows have no late messages, and to start the scans for them is what costs.
--   late    the whole ring, and first the messages of transactions that were open when prev_snapshot was taken
--   part    the segments of part.part, before part.before: see receive/window_segments.sql
create function page_source(queue_id int, lane text, kind text) returns text
language plpgsql
set search_path from current
as $generate$
declare
  window_messages constant text := messages_of_window(format(qualified('{schema}.message_%s m where true'), queue_id), lane, 'before_txid', not_expired(queue_id));
begin
  if kind = 'window' then
    return window_messages;
  elsif kind = 'late' then
    return format(qualified($sql$
  select page.*
    from (
  (
    select m.*
      from pg_snapshot_xip(position.prev_snapshot) as late(txid)
     cross join lateral (
       select m.*
         from {schema}.message_%1$s m
        where m.lane = %2$s
          and m.txid = late.txid
          and (m.txid, m.seq) > (position.last_txid, position.last_seq)
          and (m.consumer_id is null or m.consumer_id = reader)%3$s
        order by m.lane, m.txid, m.seq
        limit max_messages + 1
     ) m
     where late.txid >= position.last_txid
       and pg_visible_in_snapshot(late.txid, position.next_snapshot)
     limit max_messages + 1
  )
  union all
$sql$), queue_id, lane, not_expired(queue_id)) || window_messages || ') page limit max_messages + 1';
  end if;
  -- a segment that is not in the part is not even opened. The order across segments has to be made: a union is not read in order
  return format('select m.* from (%s) m order by m.txid, m.seq limit max_messages + 1', (
    select string_agg(messages_of_window(format(qualified('only {schema}.message_%1$s_%2$s m where %2$s = any (part.part)'), queue_id, segment), lane, 'part.before', not_expired(queue_id)), ' union all ')
      from generate_series(0, segment_count(queue_id) - 1) as ring(segment)
  ));
end
$generate$;

-- The statement that counts what has expired in all that is left of a window; none for a queue whose messages do not.
create function count_expired(queue_id int, lane text) returns text
language plpgsql
stable
set search_path from current
as $generate$
begin
  if not_expired(queue_id) = '' then
    return '';
  end if;
  return format('expired := expired + %s;', expired_between(queue_id, lane, 'pg_snapshot_xmax(position.next_snapshot)', '0'));
end
$generate$;

-- How many messages were passed over on the way from the cursor's position to another because they had expired. Without another condition
-- on txid beside the upper bound: see receive/batch_messages.sql.
create function expired_between(queue_id int, lane text, txid text, seq text) returns text
language sql
stable
return format(qualified($sql$(
               select count(*)
                 from (
                   select m.*
                     from pg_snapshot_xip(position.prev_snapshot) as late(txid)
                    cross join lateral (
                      select * from {schema}.message_%1$s m
                       where m.lane = %2$s and m.txid = late.txid
                         and m.seq > case when late.txid = position.last_txid then position.last_seq else -1 end
                         and m.seq <= case when late.txid = %3$s then %4$s else 9223372036854775807 end
                    ) m
                    where late.txid >= position.last_txid and late.txid <= %3$s and pg_visible_in_snapshot(late.txid, position.next_snapshot)
                   union all
                   select *
                     from {schema}.message_%1$s m
                    where m.lane = %2$s
                      and (m.txid, m.seq) > %5$s
                      and (m.txid, m.seq) <= (%3$s, %4$s)
                      and pg_visible_in_snapshot(m.txid, position.next_snapshot)
                 ) m
                where m.expires_at <= started and (m.consumer_id is null or m.consumer_id = reader)
             )$sql$), queue_id, lane, txid, seq, range_start('position', 'position.prev_snapshot'));
