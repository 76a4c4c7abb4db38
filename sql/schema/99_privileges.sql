-- Nothing for PUBLIC, and roles if they can be made. If not the schema does without; status() says so, and create_roles() makes them later.
do $$
declare
  type_name text;
begin
  execute format('revoke all on all routines in schema %I from public', current_schema());
  execute format('revoke all on schema %I from public', current_schema());
  foreach type_name in array '{caller,option_kind,message,received_message,found_message,peeked_message,listed_dead_letter,settled_line,given_back,delayed_position,consumer_place}'::text[] loop
    execute format(qualified('revoke all on type {schema}.%I from public'), type_name);
  end loop;
  begin
    perform create_roles();
  exception
    when insufficient_privilege or sqlstate 'PQ004' then
      null;
  end;
end
$$;
