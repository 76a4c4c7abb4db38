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

-- The statement that reads one page of a window, appends the batch row and returns the messages.
create function receive_page(queue_id int, lane text, kind text) returns text
language plpgsql
set search_path from current
as $generate$
declare
  lane_by constant text := (select q.lane_by from queue q where q.id = queue_id);
  is_last_page constant text := 'p.seen <= max_messages and p.messages = p.seen' || case when kind = 'part' then ' and not part.more' else '' end;
begin
  return format(qualified($sql$
    return query
    with window_messages as materialized (
      %2$s
    ),
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
      insert into {schema}.batch_%1$s (
        segment, consumer_id, lane, n, id, prev_snapshot, next_snapshot, window_n, window_segments, window_mins, window_maxs,
        first_txid, first_seq, last_txid, last_seq, messages, expired, exhausted, settled_before, still_open, worker, tells_begun, created_at, lease_until,
        rate_until
      )
      select current_segment, reader, %4$s, position.n + 1,
             {schema}.make_batch_id(nextval('{schema}.batch_seq_%1$s'), %1$s, current_segment),
             -- a window is stored once per segment, its further batches refer to it
             case when not keeps_window then position.prev_snapshot end,
             case when not keeps_window then position.next_snapshot end,
             case when keeps_window then position.window_n else position.n + 1 end,
             case when not keeps_window then position.window_segments end,
             case when not keeps_window then position.window_mins end,
             case when not keeps_window then position.window_maxs end,
             p.txids[1], p.seqs[1], p.txids[p.messages], p.seqs[p.messages], p.messages, %6$s, %3$s,
             -- what had expired when the batch was made is not in it, however often it is read again: judged by created_at
             (l.line).settled_before, (l.line).still_open, receive_%1$s.worker, nullif(receive_%1$s.tells_begun, false), started, clock_timestamp() + lease,
             rate_from + p.messages * rate_step
        from picked p,
             -- offset 0: evaluated once
             (
               select case when position.n %% 64 = 0
                        then {schema}.move_settled_watermark(%1$s, reader, %4$s, position.n, (position.settled_before, position.still_open)::{schema}.settled_watermark)
                        else (position.settled_before, position.still_open)::{schema}.settled_watermark
                      end as line
               offset 0
             ) l
      returning id, lease_until
    )
    select b.id, m.id, m.attempt::int, m.type, m.payload, m.headers, m.created_at, b.lease_until, %5$s, m.key, m.crashes::int
      from (select * from window_messages limit (select p.messages from picked p)) m
     cross join new_batch b;
$sql$), queue_id, page_source(queue_id, lane, kind), is_last_page, lane,
    case lane_by when 'priority' then lane else 'null::int' end,
    case when not_expired(queue_id) = '' then 'position.expired' else 'position.expired + expired + ' || expired_between(queue_id, lane,
      format('case when %s then pg_snapshot_xmax(position.next_snapshot) else p.txids[p.messages] end', is_last_page),
      format('case when %s then 0 else p.seqs[p.messages] end', is_last_page)) end);
end
$generate$;

-- The statements that read a window part by part, and return from the function with the first page that has something; empty for a ring
-- that is not worth it.
create function receive_parts(queue_id int, lane text) returns text
language plpgsql
set search_path from current
as $generate$
begin
  if segment_count(queue_id) <= segments_looked_into() then
    return '';
  end if;
  return format(qualified($parts$
    -- of a long window alone: to find out plans a statement for each segment, and most windows end with their first page, also when it had all
    -- that was asked for
    if attempt_no = 1 and not is_among_late and (position.window_segments is not null or position.n > position.window_n + 2) then
      if position.window_segments is null then
        select w.segments, w.mins, w.maxs into position.window_segments, position.window_mins, position.window_maxs
          from {schema}.find_window_segments(%1$s, %4$s, position.prev_snapshot, position.next_snapshot) w;
        -- stored again, with what was found out
        keeps_window := false;
      end if;
      from_txid := position.last_txid;
      loop
        select * into part from {schema}.window_part(position.window_segments, position.window_mins, position.window_maxs, from_txid);
        -- a segment younger than this function: this once, look into all
        exit when part.before is null or not part.part <@ %3$L::int[];
        %2$s
        if found then
          return;
        end if;
        from_txid := part.before;
      end loop;
      if part.before is null then
        %5$s
        continue;
      end if;
    end if;
$parts$), queue_id, receive_page(queue_id, lane, 'part'), array(select generate_series(0, segment_count(queue_id) - 1)), lane, count_expired(queue_id, lane));
end
$generate$;
