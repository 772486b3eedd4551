echo "albums.sh add ALBUM PHOTO"
echo "albums.sh show ALBUM"
