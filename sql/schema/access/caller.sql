-- Who calls. Inside a SECURITY DEFINER function current_user is the owner, session_user knows nothing of SET ROLE, and neither is right
-- for a function that a SECURITY DEFINER function of the application calls. So what asks takes one more argument
--
--   caller caller default current_user
--
-- whose default and whose check are evaluated where the call is made, by who makes it: nobody can pass another's name. A null can be passed,
-- by a subquery without rows: no check of a domain is made of that. So who asks takes nothing for granted that is not true.
create domain caller as name not null constraint is_the_caller check (value = current_user);

comment on domain caller is 'The role that calls a function: leave it out.';

-- Whether a role may receive from a queue: it holds EXECUTE on the functions generated for it, see access/roles.sql.
create function may_receive(caller name, queue_id int) returns boolean
language sql
stable
set search_path from current
return has_function_privilege(caller, to_regprocedure(format(qualified('{schema}.ack_%s(bigint)'), queue_id)), 'execute') is true;

-- Refuses a role that may not receive from a queue. A queue that is not there is left to the caller, who says so.
create function require_receive(caller name, queue_id int) returns void
language plpgsql
stable
set search_path from current
as $$
declare
  queue_name text;
begin
  if may_receive(caller, queue_id) then
    return;
  end if;
  select q.name into queue_name from queue q where q.id = queue_id;
  if queue_name is not null then
    raise exception using
      errcode = 'insufficient_privilege',
      message = format('permission denied for queue %s: role %s may not receive from it', queue_name, quote_ident(caller)),
      hint = format('select grant_queue(%L, %L, ''receive'')', queue_name, caller);
  end if;
end
$$;

-- Whether a role may send to a queue.
create function may_send(caller name, queue_id int) returns boolean
language sql
stable
set search_path from current
return has_function_privilege(caller, to_regprocedure(format(qualified('{schema}.send_%s(text, text, jsonb, boolean)'), queue_id)), 'execute') is true;

-- The number of a queue that a role may send to.
create function sendable_queue(caller name, queue text) returns int
language plpgsql
stable
set search_path from current
as $$
declare
  queue_id constant int := require_queue(queue);
begin
  if not may_send(caller, queue_id) then
    raise exception using
      errcode = 'insufficient_privilege',
      message = format('permission denied for queue %s: role %s may not send to it', queue, quote_ident(caller)),
      hint = format('select grant_queue(%L, %L, ''send'')', queue, caller);
  end if;
  return queue_id;
end
$$;

-- Refuses a role that may neither send to a queue nor receive from it.
create function require_use(caller name, queue_id int) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if not may_send(caller, queue_id) then
    perform require_receive(caller, queue_id);
  end if;
end
$$;

-- Whether a role may look at every queue.
create function may_view(caller name) returns boolean
language sql
stable
set search_path from current
return has_function_privilege(caller, to_regprocedure(format(qualified('{schema}.queue_status(text)'))), 'execute') is true;

-- Refuses a role that may not administer queues.
create function require_admin(caller name) returns void
language plpgsql
stable
set search_path from current
as $$
begin
  if has_function_privilege(caller, 'drop_queue(text, boolean)'::regprocedure, 'execute') is not true then
    raise exception using
      errcode = 'insufficient_privilege',
      message = format('permission denied: role %s may not administer queues', quote_ident(caller)),
      hint = format('Members of %s may.', quote_ident(schema_role('admin')));
  end if;
end
$$;

-- The number of a queue that a role may receive from.
create function receivable_queue(caller name, queue text) returns int
language plpgsql
stable
set search_path from current
as $$
declare
  queue_id constant int := require_queue(queue);
begin
  perform require_receive(caller, queue_id);
  return queue_id;
end
$$;

-- The number of a queue that a role may look at, since it may look at every queue or receive from that one; null for no queue, which is refused
-- to a role that may look at none.
create function viewable_queue(caller name, queue text) returns int
language plpgsql
stable
set search_path from current
as $$
begin
  if queue is not null then
    return case when may_view(caller) then require_queue(queue) else receivable_queue(caller, queue) end;
  end if;
  if not may_view(caller) and not exists (select from queue q where may_receive(caller, q.id)) then
    raise exception using
      errcode = 'insufficient_privilege',
      message = format('permission denied: role %s may neither look at queues nor receive from one', quote_ident(caller)),
      hint = format('Members of %s may look.', quote_ident(schema_role('viewer')));
  end if;
  return null;
end
$$;
