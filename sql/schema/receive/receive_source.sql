-- What a receive reads: the parts of its statement that say which messages, in which order, from which tables. receive/receive.sql says how a
-- cursor works.

-- What the main part of a window is read after, (txid, seq): the position of a cursor, or the end of the earlier snapshot while the position is
-- still among the late messages. position: what has last_txid and last_seq.
create function range_start("position" text, prev text) returns text
language sql
immutable
return replace(replace(
  '(case when <position>.last_txid < pg_snapshot_xmax(<prev>) then pg_snapshot_xmax(<prev>) else <position>.last_txid end, '
    || 'case when <position>.last_txid < pg_snapshot_xmax(<prev>) then -1 else <position>.last_seq end)',
  '<position>', "position"), '<prev>', prev);

-- The condition that a message has not expired, for a queue whose messages may.
create function not_expired(queue_id int) returns text
language sql
stable
set search_path from current
return case when (select q.allow_expiry from queue q where q.id = queue_id) then 'and (m.expires_at is null or m.expires_at > started)' else '' end;

-- Fragment: the messages of transactions that were open when prev_snapshot was taken. One more than a page may have, which says whether it is
-- the last.
-- With those that are cancelled, if so wanted.
-- Reads: position, of_consumer, consumer, max_messages, started.
create function late_messages(queue_id int, lane text, cancelled boolean default true) returns text
language plpgsql
stable
set search_path from current
as $generate$
begin
  return render($sql$
    (
      select m.*
        from pg_snapshot_xip(position.prev_snapshot) as late(txid)
       cross join lateral (
         select m.*
           from {schema}.message_${queue} m
          where m.lane = ${lane}
            and m.txid = late.txid
            and (m.txid, m.seq) > (position.last_txid, position.last_seq)
            and (m.consumer_id is null or m.consumer_id = of_consumer)
            ${and_not_expired}
            ${and_not_cancelled}
          order by m.lane, m.txid, m.seq
          limit max_messages + 1
       ) m
       where late.txid >= position.last_txid
         and pg_visible_in_snapshot(late.txid, position.next_snapshot)
       limit max_messages + 1
    )
  $sql$, jsonb_build_object(
    'queue', queue_id, 'lane', lane, 'and_not_expired', not_expired(queue_id),
    'and_not_cancelled', case when cancelled then '' else not_cancelled(queue_id, format('receive_%s.consumer', queue_id)) end
  ));
end
$generate$;

-- Fragment: the messages of the main part of the window, before a txid; one more than a page may have. Every segment of the ring has a scan of its
-- own, which is made ready anew for each receive: so the bounds are variables, not expressions, and all columns are taken, as they lie in the
-- table: both are most of what that costs. segment: of one segment, if it is among those of part; null: of the whole ring. cancelled: with those that are.
-- Reads: position, after_txid, after_seq, before_txid or part, of_consumer, consumer, max_messages, started.
create function window_messages(queue_id int, lane text, segment int default null, cancelled boolean default true) returns text
language plpgsql
stable
set search_path from current
as $generate$
begin
  return render($sql$
    (
      select m.*
        from ${only}{schema}.${messages} m
       where m.lane = ${lane}
         ${and_in_part}
         and (m.txid, m.seq) > (after_txid, after_seq)
         and m.txid < ${before}
         and pg_visible_in_snapshot(m.txid, position.next_snapshot)
         and (m.consumer_id is null or m.consumer_id = of_consumer)
         ${and_not_expired}
         ${and_not_cancelled}
       order by m.lane, m.txid, m.seq
       limit max_messages + 1
    )
  $sql$, jsonb_build_object(
    'only', case when segment is null then '' else 'only ' end,
    'messages', concat_ws('_', 'message', queue_id, segment),
    'lane', lane,
    'and_in_part', case when segment is null then '' else format('and %s = any (part.part)', segment) end,
    'before', case when segment is null then 'before_txid' else 'part.before' end,
    'and_not_expired', not_expired(queue_id),
    'and_not_cancelled', case when cancelled then '' else not_cancelled(queue_id, format('receive_%s.consumer', queue_id)) end
  ));
end
$generate$;

-- Fragment: the statement that counts what has expired in all that is left of a window; empty for a queue whose messages do not.
-- Reads: position, of_consumer, started. Writes: expired.
create function count_expired(queue_id int, lane text) returns text
language plpgsql
stable
set search_path from current
as $generate$
begin
  if not_expired(queue_id) = '' then
    return '';
  end if;
  return render('expired := expired + ' || expired_up_to() || ';', jsonb_build_object(
    'queue', queue_id, 'lane', lane, 'until_txid', 'pg_snapshot_xmax(position.next_snapshot)', 'until_seq', '0',
    'range_start', range_start('position', 'position.prev_snapshot')
  ));
end
$generate$;

-- Fragment: the statements that find out whether all that is left of a window is cancelled, after a look that found nothing else; empty for a queue that cancels
-- nothing. So the cursor moves past it, and the next look need not read it again.
-- Reads: has_cancelled, seen, position, after_txid, after_seq, before_txid, of_consumer, max_messages, started. Writes: has_passed.
create function find_passed(queue_id int, lane text) returns text
language plpgsql
stable
set search_path from current
as $generate$
begin
  if not allows_cancel(queue_id) then
    return '';
  end if;
  return render($sql$
    if has_cancelled and seen = 0 and not has_passed then
      has_passed := exists (
        ${messages}
      );
    end if;
  $sql$, jsonb_build_object('messages', late_messages(queue_id, lane) || E'\nunion all\n' || window_messages(queue_id, lane)));
end
$generate$;

-- Part of a template: how many messages were passed over on the way from the cursor's position to another, (until_txid, until_seq), because they
-- had expired. Without another condition on txid beside the upper bound: see receive/batch_messages.sql.
create function expired_up_to() returns text
language sql
immutable
return $sql$(
  select count(*)
    from (
      select m.*
        from pg_snapshot_xip(position.prev_snapshot) as late(txid)
       cross join lateral (
         select * from {schema}.message_${queue} m
          where m.lane = ${lane} and m.txid = late.txid
            and m.seq > case when late.txid = position.last_txid then position.last_seq else -1 end
            and m.seq <= case when late.txid = ${until_txid} then ${until_seq} else 9223372036854775807 end
       ) m
       where late.txid >= position.last_txid and late.txid <= ${until_txid} and pg_visible_in_snapshot(late.txid, position.next_snapshot)
      union all
      select *
        from {schema}.message_${queue} m
       where m.lane = ${lane}
         and (m.txid, m.seq) > ${range_start}
         and (m.txid, m.seq) <= (${until_txid}, ${until_seq})
         and pg_visible_in_snapshot(m.txid, position.next_snapshot)
    ) m
   where m.expires_at <= started and (m.consumer_id is null or m.consumer_id = of_consumer)
)$sql$;
