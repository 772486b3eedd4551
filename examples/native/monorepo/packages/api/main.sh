echo "{ \"user\": \"ada\" }"
